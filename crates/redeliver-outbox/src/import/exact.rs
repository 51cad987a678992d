//! A value of a foreign column as a text that no other value of the column has, and back again.
//!
//! Rows are known again by this text, and imports go on where it says. So it is never what people read of a value: that is cut, and
//! white space in it is folded.

use std::borrow::Cow;

use redeliver::address::printable;

use super::{Cell, Position, cell::hexadecimal};

const INTEGER: &str = "integer:";
const NUMBER: &str = "number:";
const TEXT: &str = "text:";
const BYTES: &str = "bytes:";
const HASH: &str = "sha256:";

/// What a column holds. A value of this kind is written as it is, and every other one with its kind before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Whole numbers.
    Integers,
    /// Text, or what is read as text.
    Texts,
    /// Bytes.
    Bytes,
    /// Bytes, as SQLite takes it: the column may hold anything else, too.
    Blobs,
    /// Whole numbers, text or bytes, as it comes.
    Anything,
}

impl Holds {
    /// The position as a text of one line that [`position`](Self::position) reads as the same one.
    #[must_use]
    pub fn written(self, position: &Position) -> String {
        let (kind, bare) = match position {
            Position::Integer(number) => (INTEGER, Cow::Owned(number.to_string())),
            Position::Text(text) => (TEXT, Cow::Borrowed(text.as_str())),
            Position::Bytes(bytes) => (BYTES, Cow::Owned(hexadecimal(bytes))),
        };
        if is_plain(&bare) && self.position(&bare).as_ref() == Some(position) {
            return bare.into_owned();
        }
        match position {
            Position::Text(text) => format!("{kind}{}", escaped(text)),
            Position::Integer(_) | Position::Bytes(_) => format!("{kind}{bare}"),
        }
    }

    /// The position that a text names; none if the column holds nothing that looks like this.
    #[must_use]
    pub fn position(self, text: &str) -> Option<Position> {
        let integer = |text: &str| text.parse().ok().map(Position::Integer);
        let as_written = |text: &str| integer(text).filter(|read| read.to_string() == text);
        let bytes = |text: &str| bytes(text).map(Position::Bytes);
        if let Some(digits) = text.strip_prefix(INTEGER) {
            return integer(digits);
        }
        if let Some(digits) = text.strip_prefix(BYTES) {
            return bytes(digits);
        }
        if let Some(escaped) = text.strip_prefix(TEXT) {
            return unescaped(escaped).map(Position::Text);
        }
        match self {
            Self::Integers => integer(text),
            Self::Texts => Some(Position::Text(text.to_owned())),
            Self::Bytes => bytes(text),
            Self::Blobs => as_written(text).or_else(|| bytes(text)),
            Self::Anything => as_written(text).or_else(|| Some(Position::Text(text.to_owned()))),
        }
    }

    /// What tells a value from every other one of the column, in at most so many bytes; none of what is NULL.
    pub(super) fn known_by(self, cell: &Cell, longest: usize) -> Option<String> {
        let written = match cell {
            Cell::Null => return None,
            Cell::Integer(number) => self.written(&Position::Integer(*number)),
            Cell::Bytes(bytes) => self.written(&Position::Bytes(bytes.clone())),
            // Where numbers are what the column holds, nothing else is in it.
            Cell::Number(number) if self != Self::Texts => format!("{NUMBER}{number}"),
            Cell::Text(text) | Cell::Json(text) | Cell::Number(text) => {
                self.written(&Position::Text(text.clone()))
            }
            Cell::Boolean(flag) => flag.to_string(),
        };
        match written.len() > longest {
            true => hash(&written),
            false => Some(written),
        }
    }
}

/// Whether people see it as it is, in one line, and nobody takes it for one that names its kind.
fn is_plain(text: &str) -> bool {
    let names_a_kind = [INTEGER, NUMBER, TEXT, BYTES, HASH]
        .iter()
        .any(|kind| text.starts_with(kind));
    let is_seen = |word: &str| !word.is_empty() && printable(word) == word;
    !names_a_kind && text.split(' ').all(is_seen)
}

/// With a percent sign and two digits in the place of each byte that a shell or a terminal may take for something else.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        b'-' | b'_' | b'.' | b':' | b'/' | b'@' | b',' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut plain = parts.next()?.as_bytes().to_vec();
    for part in parts {
        plain.extend(bytes(part.get(..2)?)?);
        plain.extend(part.as_bytes().iter().skip(2));
    }
    String::from_utf8(plain).ok()
}

/// Two hexadecimal digits a byte.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// What stands for a text that is too long for a key.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
fn hash(text: &str) -> Option<String> {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    Some(format!("{HASH}{}", hexadecimal(digest.as_ref())))
}

/// Without a database there is no row either.
#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
const fn hash(_: &str) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Holds; 5] = [
        Holds::Integers,
        Holds::Texts,
        Holds::Bytes,
        Holds::Blobs,
        Holds::Anything,
    ];

    fn text(text: &str) -> Position {
        Position::Text(text.to_owned())
    }

    /// Values that people cannot tell apart, or that are alike in another type.
    fn alike() -> Vec<Position> {
        let long = "x".repeat(300);
        let mut all: Vec<Position> = [
            "a b",
            "a  b",
            " a b",
            "a b ",
            "a\tb",
            "a\nb",
            "a\u{7}b",
            "a\u{fffd}b",
            "7",
            "007",
            "-7",
            "61",
            "",
            " ",
            "%",
            "é",
            "text:",
            "text:a%20b",
            "text:7",
            "bytes:61",
            "integer:7",
            "number:7",
            "sha256:00",
            "01HZ-000007",
        ]
        .map(text)
        .to_vec();
        all.extend([7, -7, 61, 0].map(Position::Integer));
        all.extend([&b"a"[..], b"", b"7", &[0x61, 0xff]].map(|bytes| Position::Bytes(bytes.to_vec())));
        all.extend([text(&long), text(&format!("{long}y"))]);
        all
    }

    #[test]
    fn what_is_written_is_read_as_the_same_and_no_two_are_written_alike() {
        for holds in ALL {
            let mut all = Vec::new();
            for position in alike() {
                let written = holds.written(&position);
                assert_eq!(holds.position(&written), Some(position), "{holds:?} {written}");
                let is_safe = written.chars().all(|character| !character.is_control());
                assert!(is_safe && written.trim() == written, "{holds:?} {written:?}");
                all.push(written);
            }
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{holds:?}");
        }
    }

    /// Rows that were imported before are known by these.
    #[test]
    fn what_a_column_is_made_for_is_written_as_it_is() {
        for holds in [Holds::Integers, Holds::Blobs, Holds::Anything] {
            assert_eq!(holds.written(&Position::Integer(-7)), "-7");
        }
        let uuid = "01932d3a-5f7e-7c3a-9b1e-0e02b2c3d479";
        for holds in [Holds::Texts, Holds::Anything] {
            assert_eq!(holds.written(&text(uuid)), uuid);
        }
        assert_eq!(Holds::Texts.written(&text("007")), "007");
        for holds in [Holds::Bytes, Holds::Blobs] {
            assert_eq!(holds.written(&Position::Bytes(vec![0, 255])), "00ff");
        }
    }

    #[test]
    fn a_place_is_read_as_the_column_has_it() {
        let bytes = |bytes: &[u8]| Some(Position::Bytes(bytes.to_vec()));
        assert_eq!(Holds::Integers.position("-7"), Some(Position::Integer(-7)));
        assert_eq!(Holds::Integers.position("seven"), None);
        assert_eq!(Holds::Anything.position("7"), Some(Position::Integer(7)));
        assert_eq!(Holds::Anything.position("007"), Some(text("007")));
        assert_eq!(Holds::Anything.position("text:7"), Some(text("7")));
        assert_eq!(Holds::Bytes.position("00fF"), bytes(&[0, 255]));
        assert_eq!(Holds::Bytes.position("00f"), None);
        assert_eq!(Holds::Texts.position("text:a%20%20b"), Some(text("a  b")));
        assert_eq!(Holds::Texts.position("text:%2"), None);
        assert_eq!(Holds::Texts.position("text:%zz"), None);
        assert_eq!(Holds::Texts.position("text:%é"), None);
    }

    #[test]
    fn what_is_too_long_for_a_key_is_hashed() {
        let cell = |text: &str| Cell::Text(text.to_owned());
        let long = |last: &str| cell(&format!("{}{last}", "x".repeat(400)));
        let known_by = |cell: &Cell| Holds::Texts.known_by(cell, 100).unwrap();
        assert_eq!(known_by(&cell("a")), "a");
        assert!(known_by(&long("a")).starts_with(HASH));
        assert_ne!(known_by(&long("a")), known_by(&long("b")));
        assert_eq!(known_by(&long("a")).len(), HASH.len() + 64);
        assert_eq!(Holds::Texts.known_by(&Cell::Null, 100), None);
    }
}
