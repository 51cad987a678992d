//! What a column of a foreign row holds, and where a row is in the table's order.

use std::fmt;

use serde_json::value::RawValue;

/// What a column of a foreign row holds, whatever the database calls its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// Text; uuids and times too, as they are written.
    Text(String),
    /// Text that the database knows to be JSON.
    Json(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A whole number.
    Integer(i128),
    /// Any other number, as it is written.
    Number(String),
    /// True or false.
    Boolean(bool),
}

impl Cell {
    /// The text of it; none of what is NULL. Bytes must be text.
    pub(super) fn text(&self) -> Result<Option<String>, &'static str> {
        Ok(match self {
            Self::Null => None,
            Self::Text(text) | Self::Json(text) | Self::Number(text) => Some(text.clone()),
            Self::Bytes(bytes) => match str::from_utf8(bytes) {
                Ok(text) => Some(text.to_owned()),
                Err(_) => return Err("holds bytes that are no text"),
            },
            Self::Integer(number) => Some(number.to_string()),
            Self::Boolean(flag) => Some(flag.to_string()),
        })
    }

    /// Whether there is nothing in it.
    pub(super) const fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) | Self::Json(text) | Self::Number(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Integer(_) | Self::Boolean(_) => false,
        }
    }

    /// What tells it from others in the same column that holds one kind of them: bytes by their digits, because some of them may be text and others not.
    pub(super) fn identity(&self) -> Option<String> {
        match self {
            Self::Bytes(bytes) => Some(hexadecimal(bytes)),
            other => other.text().unwrap_or_default(),
        }
    }

    /// The same as a JSON value. Bytes are hexadecimal digits.
    pub(super) fn json(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Boolean(flag) => flag.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Json(text) | Self::Number(text) if serde_json::from_str::<&RawValue>(text).is_ok() => {
                text.trim().to_owned()
            }
            Self::Text(text) | Self::Json(text) | Self::Number(text) => quoted(text),
            Self::Bytes(bytes) => quoted(&hexadecimal(bytes)),
        }
    }
}

pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where a row is: the value of the column by which the table is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// A whole number.
    Integer(i128),
    /// Text, or a uuid.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Position {
    /// The position that a cell of the order column is.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub(super) fn of(cell: Cell) -> Option<Self> {
        match cell {
            Cell::Integer(number) => Some(Self::Integer(number)),
            Cell::Text(text) => Some(Self::Text(text)),
            Cell::Bytes(bytes) => Some(Self::Bytes(bytes)),
            Cell::Null | Cell::Json(_) | Cell::Number(_) | Cell::Boolean(_) => None,
        }
    }

    /// Whether it is a uuid of version 4: random, and so in no order.
    #[must_use]
    pub fn is_random(&self) -> bool {
        match self {
            Self::Integer(_) => false,
            Self::Text(text) => {
                let shape: Vec<usize> = text.split('-').map(str::len).collect();
                let digits = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
                shape == [8, 4, 4, 4, 12] && digits && text.as_bytes().get(14) == Some(&b'4')
            }
            Self::Bytes(bytes) => bytes.len() == 16 && bytes[6] >> 4 == 4 && bytes[8] >> 6 == 0b10,
        }
    }
}

/// As people read it, in one short line. What it is exactly, [`Holds`](super::Holds) writes.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(&redeliver::address::printable(text)),
            Self::Bytes(bytes) => f.write_str(&hexadecimal(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_becomes_the_json_that_it_is() {
        let number = |text: &str| Cell::Number(text.to_owned());
        for (cell, json) in [
            (Cell::Null, "null"),
            (Cell::Text("a\"\n".to_owned()), "\"a\\\"\\n\""),
            (Cell::Json(" {\"b\": [1]} ".to_owned()), "{\"b\": [1]}"),
            (Cell::Json("{oops".to_owned()), "\"{oops\""),
            (Cell::Bytes(vec![0, 255]), "\"00ff\""),
            (Cell::Integer(-7), "-7"),
            (
                number("12.500000000000000000000001"),
                "12.500000000000000000000001",
            ),
            (number("NaN"), "\"NaN\""),
            (Cell::Boolean(true), "true"),
        ] {
            assert_eq!(cell.json(), json);
        }
    }

    #[test]
    fn bytes_are_told_apart_by_their_digits() {
        assert_eq!(
            Cell::Bytes(b"61ff".to_vec()).identity(),
            Some("36316666".to_owned())
        );
        assert_eq!(Cell::Bytes(vec![0x61, 0xff]).identity(), Some("61ff".to_owned()));
        assert!(Cell::Bytes(vec![0xff]).text().is_err());
    }

    #[test]
    fn random_uuids_are_known() {
        let text = |text: &str| Position::Text(text.to_owned()).is_random();
        assert!(text("f47ac10b-58cc-4372-a567-0e02b2c3d479"));
        assert!(!text("01932d3a-5f7e-7c3a-9b1e-0e02b2c3d479"));
        assert!(!text("order-7-of-44"));
        let mut bytes = [0_u8; 16];
        (bytes[6], bytes[8]) = (0x43, 0xa5);
        assert!(Position::Bytes(bytes.to_vec()).is_random());
        assert!(!Position::Bytes(vec![0x43; 15]).is_random());
    }
}
