//! The hidden values of a payload, one by one.

use serde_json::value::RawValue;

use super::{FieldPath, Secrecy, json, path::Way, replaced};
use crate::{Payload, limits, members::Members};

/// Deeper than this, JSON is taken as the text that it is: a payload is not to decide how deep the stack gets.
const DEEPEST: usize = 64;

/// Texts and numbers, as they would be read aloud.
#[derive(Debug)]
pub(super) struct Gathering {
    pub(super) values: Vec<String>,
    most: usize,
    /// How many bytes may still be looked at.
    room: usize,
    /// Whether there is more than is gathered.
    pub(super) is_full: bool,
}

impl Gathering {
    /// All of them, whatever that takes.
    pub(super) const fn whole() -> Self {
        Self::of(usize::MAX, usize::MAX)
    }

    /// As many as are looked for in a text.
    pub(super) const fn bounded() -> Self {
        Self::of(limits::CLEARED_VALUES, limits::CLEARED_BYTES)
    }

    const fn of(most: usize, room: usize) -> Self {
        Self {
            values: Vec::new(),
            most,
            room,
            is_full: false,
        }
    }

    pub(super) fn gather(mut self, secrecy: &Secrecy, payload: &Payload) -> Self {
        match (secrecy, payload.as_text()) {
            (Secrecy::Nothing, _) | (_, None) => {}
            (Secrecy::Fields(paths), Some(text)) => match json(payload) {
                Some(json) => {
                    let ways: Vec<Way<'_>> = paths.iter().map(FieldPath::way).collect();
                    replaced(json, &ways, &mut |value| {
                        self.add(value);
                        String::new()
                    });
                }
                None => self.add_text(text),
            },
            // Its length tells before anybody reads it.
            (Secrecy::Everything, Some(text)) if text.len() > self.room => self.is_full = true,
            (Secrecy::Everything, Some(text)) => match json(payload) {
                Some(json) => self.add(json),
                None => self.add_text(text),
            },
        }
        self
    }

    /// What is in a piece of JSON.
    fn add(&mut self, json: &str) {
        if self.takes(json) {
            self.add_leaves(json, 0);
        }
    }

    fn add_text(&mut self, text: &str) {
        if self.takes(text) {
            self.push(text.to_owned());
        }
    }

    fn takes(&mut self, text: &str) -> bool {
        match self.room.checked_sub(text.len()) {
            Some(room) if !self.is_full => self.room = room,
            _ => self.is_full = true,
        }
        !self.is_full
    }

    fn push(&mut self, value: String) {
        match self.values.len() < self.most {
            true => self.values.push(value),
            false => self.is_full = true,
        }
    }

    fn add_leaves(&mut self, text: &str, depth: usize) {
        if self.is_full {
            return;
        }
        if depth < DEEPEST
            && let Ok(Members(members)) = serde_json::from_str(text)
        {
            let values = members.iter().map(|(_, value)| value.get());
            values.for_each(|value| self.add_leaves(value, depth + 1));
        } else if depth < DEEPEST
            && let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text)
        {
            let values = items.iter().map(|value| value.get());
            values.for_each(|value| self.add_leaves(value, depth + 1));
        } else if let Ok(text) = serde_json::from_str::<String>(text) {
            self.push(text);
        } else if !matches!(text.trim(), "true" | "false" | "null") {
            self.push(text.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(path: &str) -> Secrecy {
        Secrecy::Fields([path.parse().unwrap()].into())
    }

    /// What is not gathered is not looked for either, in any of its forms.
    #[test]
    fn a_large_payload_makes_no_more_work_than_a_small_one() {
        let short: Vec<String> = (0..100_000).map(|number| format!("{number:06}")).collect();
        let many = format!(r#"{{"all":["{}"],"order":7}}"#, short.join("\",\""));
        let some = format!(r#"{{"all":["{}"],"order":7}}"#, short[..2000].join("\",\""));
        let long = format!(r#"{{"all":"{}","order":7}}"#, "x".repeat(limits::CLEARED_BYTES));
        for secrecy in [fields("all"), Secrecy::Everything] {
            for (payload, most) in [(&many, 0), (&some, limits::CLEARED_VALUES), (&long, 0)] {
                let payload = Payload::from(payload.clone());
                let gathered = Gathering::bounded().gather(&secrecy, &payload);
                assert!(gathered.is_full, "{secrecy:?}");
                assert!(gathered.values.len() <= most, "{}", gathered.values.len());
            }
        }
        let gathered = Gathering::bounded().gather(&fields("order"), &Payload::from(many));
        assert_eq!((gathered.values, gathered.is_full), (vec!["7".to_owned()], false));
    }
}
