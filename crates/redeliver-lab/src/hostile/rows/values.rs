//! Hostile values, column by column.

use super::Draft;
use crate::hostile::{case::Due, database::Family};

/// Around the limits of the documentation, and far beyond.
const LENGTHS: [usize; 12] = [
    1, 199, 200, 201, 999, 1000, 1001, 2_700, 9_600, 10_000, 100_000, 400_000,
];
const KIBIBYTE: usize = 1 << 10;
const MEBIBYTE: usize = 1 << 20;

impl Draft<'_> {
    /// A text that is too short, too long, or not what it seems.
    pub(super) fn text(&mut self) -> (String, String) {
        const STRANGE: [(&[u8], &str); 14] = [
            (b"", "empty"),
            (b" ", "blank"),
            (b"steady ", "trailing blank"),
            (b"a\0b", "NUL"),
            (b"\x01\x02\x1b[2J\x7f", "control characters"),
            (b"a\r\nx-evil: 1", "line break"),
            ("\u{202e}abc\u{2066}".as_bytes(), "right to left"),
            ("\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}".as_bytes(), "emoji"),
            ("e\u{301}\u{301}\u{301}".as_bytes(), "combining marks"),
            ("\u{feff}\u{fffe}\u{10ffff}".as_bytes(), "noncharacters"),
            (b"\xff\xfe\xfd", "not UTF-8"),
            (b"\xed\xa0\x80", "surrogate"),
            (b"'; DROP TABLE redeliver_outbox; --", "SQL"),
            (b"${jndi:ldap://x}{{payload}}%n%s", "templates"),
        ];
        if self.rng.bool() {
            let (bytes, label) = self.choose(&STRANGE);
            let sql = if self.family == Family::Sqlite && self.rng.u32(0..4) == 0 {
                self.family.bytes(bytes)
            } else {
                self.family.text(bytes)
            };
            return (sql, label.to_owned());
        }
        let length = self.choose(&LENGTHS);
        if self.rng.u32(0..4) == 0 {
            let times = length / 4 + 1;
            return (self.family.repeat("\u{1f4a5}", times), format!("{times} emoji"));
        }
        // An index compresses what repeats itself.
        let text: Vec<u8> = (0..length).map(|_| self.rng.alphanumeric() as u8).collect();
        (self.family.text(&text), format!("of {length} bytes"))
    }

    pub(super) fn topic(&mut self) {
        const TOPICS: [&str; 9] = [
            "orders.paid",
            "orders",
            "parcels.sent",
            "nobody.wants.this",
            ".",
            "orders..paid",
            "orders.*",
            "**",
            "-",
        ];
        let empty = self.family.text(b"");
        self.set("destination", empty, "none");
        if self.rng.bool() {
            let topic = self.choose(&TOPICS);
            let sql = self.family.text(topic.as_bytes());
            self.set("topic", sql, topic);
        } else {
            let (sql, label) = self.text();
            self.set("topic", sql, &label);
        }
    }

    /// A JSON payload of this size, with its ticket in front.
    pub(super) fn filled(&self, bytes: usize) -> String {
        let front = format!(r#"{{"ticket":{},"filling":""#, self.ticket);
        let filling = self.family.repeat("x", bytes.saturating_sub(front.len() + 2));
        let parts = [
            self.family.text(front.as_bytes()),
            filling,
            self.family.text(b"\"}"),
        ];
        self.family.joined(&parts)
    }

    pub(super) fn payload(&mut self) {
        const STRANGE: [(&[u8], &str); 9] = [
            (b"", "empty"),
            (b"null", "null"),
            (b"{", "broken JSON"),
            (b"NaN", "NaN"),
            (b"\"\\ud800\"", "lone surrogate"),
            (b"1e999999", "huge number"),
            (b"{\"a\":1,\"a\":2}", "duplicate keys"),
            (b"\"a\0b\"", "NUL"),
            (b"\"\xff\"", "not UTF-8"),
        ];
        match self.rng.u32(0..4) {
            0 => {
                let bytes = self.choose(&[MEBIBYTE - 1, MEBIBYTE, MEBIBYTE + 1, 4 * MEBIBYTE]);
                let sql = self.filled(bytes);
                self.set("payload", sql, &format!("of {bytes} bytes"));
            }
            1 => {
                let sql = self.family.repeat("[", 100_000);
                self.set("payload", sql, "nested 100000 deep");
            }
            _ => {
                let (bytes, label) = self.choose(&STRANGE);
                let sql = self.family.text(bytes);
                self.set("payload", sql, label);
            }
        }
    }

    pub(super) fn binary(&mut self) {
        let bytes: &[u8] = self.choose(&[b"".as_slice(), b"\0\xff\xfe", b"{}", b"\xed\xa0\x80"]);
        let sql = self.family.bytes(bytes);
        self.set("payload_binary", sql, &format!("{bytes:?}"));
        // Both are refused: seldom, since that tells little.
        if self.rng.u32(0..8) > 0 {
            self.set("payload", "NULL".to_owned(), "NULL");
        }
        if self.rng.bool() {
            let sql = self.family.text(b"application/octet-stream");
            self.set("content_type", sql, "octets");
        }
    }

    pub(super) fn headers(&mut self) {
        const STRANGE: [&str; 15] = [
            "",
            "null",
            "[]",
            "{",
            "{\"a\":1}",
            "{\"a\":{\"b\":\"c\"}}",
            "{\"a\":\"x\\r\\ny: z\"}",
            "{\"content-length\":\"5\"}",
            "{\"transfer-encoding\":\"chunked\"}",
            "{\"host\":\"elsewhere\"}",
            "{\"\":\"x\"}",
            "{\"a b\":\"x\"}",
            "{\"connection\":\"close\",\"upgrade\":\"h2c\"}",
            "{\"idempotency-key\":\"another\",\"redeliver-attempt\":\"-1\"}",
            "{\"a\":\"\\u0000\"}",
        ];
        if self.rng.u32(0..3) > 0 {
            let text = self.choose(&STRANGE);
            let sql = self.family.text(text.as_bytes());
            return self.set("headers", sql, text);
        }
        let bytes = self.choose(&[16 * KIBIBYTE - 1, 16 * KIBIBYTE, 16 * KIBIBYTE + 1, 2 * MEBIBYTE]);
        let filling = self.family.repeat("x", bytes - 9);
        let parts = [
            self.family.text(b"{\"big\":\""),
            filling,
            self.family.text(b"\"}"),
        ];
        let sql = self.family.joined(&parts);
        self.set("headers", sql, &format!("of {bytes} bytes"));
    }

    pub(super) fn time(&mut self, column: &'static str) {
        let times = times(self.family);
        let (sql, far) = self.choose(times);
        self.set(column, sql.to_owned(), sql);
        self.due = match column {
            "not_before" if far => Due::Never,
            "next_attempt_at" if far => Due::Either,
            _ => self.due,
        };
        if column == "created_at" || column == "expires_at" {
            return;
        }
        // A scheduled row keeps its lane waiting: only its own.
        let lane = self.family.text(format!("hostile-{}", self.ticket).as_bytes());
        self.columns.insert("lane", lane);
    }

    pub(super) fn number(&mut self) {
        let number = match self.family {
            Family::Postgres => self.choose(&[
                "0",
                "-1",
                "1",
                "7",
                "1152921504606846975",
                "1152921504606846976",
                "9223372036854775807",
                "(SELECT last_value + 5000000 FROM redeliver_outbox_number)",
                "(SELECT last_value - 20 FROM redeliver_outbox_number)",
            ]),
            // A number up to which the others are counted would leave producers none.
            Family::Sqlite => self.choose(&[
                "0",
                "-1",
                "1",
                "7",
                "1152921504606846976",
                "9223372036854775807",
                "(SELECT seq + 1000000 FROM sqlite_sequence WHERE name = 'redeliver_outbox')",
                "(SELECT seq - 20 FROM sqlite_sequence WHERE name = 'redeliver_outbox')",
            ]),
            Family::Mysql => self.choose(&[
                "0",
                "-1",
                "-9223372036854775808",
                "1",
                "7",
                "20",
                "1000000",
                "5000000",
            ]),
        };
        self.set("number", number.to_owned(), number);
    }
}

/// Times as literals, and whether they are far ahead.
const fn times(family: Family) -> &'static [(&'static str, bool)] {
    match family {
        Family::Sqlite => &[
            ("0", false),
            ("-1", false),
            ("-62135596800000", false),
            ("-9223372036854775807", false),
            ("253402214400000", true),
            ("253402300799999", true),
            ("253402300800000", true),
            ("9223372036854775807", true),
        ],
        Family::Postgres => &[
            ("'0001-01-01 00:00:00+00'", false),
            ("'1970-01-01 00:00:00+00'", false),
            ("'4713-01-01 00:00:00+00 BC'", false),
            ("'-infinity'", false),
            ("'infinity'", true),
            ("'9999-12-31 00:00:00+00'", true),
            ("'9999-12-31 23:59:59.999999+00'", true),
            ("'10000-01-01 00:00:00+00'", true),
            ("'294276-12-31 23:59:59+00'", true),
        ],
        Family::Mysql => &[
            ("'0000-00-00 00:00:00'", false),
            ("'2024-00-00 00:00:00'", false),
            ("'0001-01-01 00:00:00'", false),
            ("'1000-01-01 00:00:00'", false),
            ("'1970-01-01 00:00:00'", false),
            ("'9999-12-31 00:00:00'", true),
            ("'9999-12-31 23:59:59.999'", true),
            ("'2200-01-01 00:00:00'", true),
        ],
    }
}
