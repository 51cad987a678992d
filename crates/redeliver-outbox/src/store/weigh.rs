//! What one read may bring, by its bytes.
//!
//! A read looks for messages as if all of them were small. Those that are not come without their large columns at first, and are read
//! again if there is room for them: so the usual read is one look, and no read brings more than it may.

use std::collections::HashMap;

use super::Bytes;
use crate::Message;

/// A row, by its shard and number.
pub(super) type Key = (u16, i64);

impl Bytes {
    /// The longest payload that comes at first, where so many rows may come. With other columns as long as the payload, all of them
    /// are half of what may come; the other half is for large ones.
    pub(super) fn at_first(self, rows: usize) -> usize {
        (self.all / rows.max(1) / 4).min(self.largest)
    }
}

/// What there is room for of large messages: half of what may come in all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    left: usize,
    largest: u64,
}

impl Room {
    pub(super) fn of(bytes: Bytes) -> Self {
        Self {
            left: bytes.all / 2,
            largest: u64::try_from(bytes.largest).unwrap_or(u64::MAX),
        }
    }

    /// One in so many parts of it.
    pub(super) const fn part(self, parts: usize) -> Self {
        Self {
            left: self.left / parts,
            ..self
        }
    }

    /// Names the large messages that there is room for. The first that there is none for is cut off with all behind it, and it is said
    /// that it is so. `one` lets the first message of all come, whatever its size.
    pub(super) fn choose(&mut self, messages: &mut Vec<Message>, one: bool) -> (Vec<Key>, bool) {
        let mut chosen = Vec::new();
        for (place, message) in messages.iter().enumerate() {
            let Some(size) = message.withheld.filter(|&size| size <= self.most()) else {
                continue;
            };
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            if size > self.left && !(one && place == 0) {
                messages.truncate(place);
                return (chosen, true);
            }
            self.left = self.left.saturating_sub(size);
            chosen.push((message.shard, message.number()));
        }
        (chosen, false)
    }

    /// The most that a message can have and still be read: its payload, and seven other texts of an eighth of that.
    const fn most(self) -> u64 {
        self.largest.saturating_mul(2)
    }
}

/// Puts messages that were read again into their places.
pub(super) fn fill<'a>(places: impl Iterator<Item = &'a mut Message>, full: Vec<Message>) {
    let mut full: HashMap<Key, Message> = full
        .into_iter()
        .map(|message| ((message.shard, message.number()), message))
        .collect();
    for place in places.filter(|place| place.withheld.is_some()) {
        if let Some(message) = full.remove(&(place.shard, place.number())) {
            *place = message;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, NewMessage, Timestamp};

    fn message(number: i64, size: Option<u64>) -> Message {
        let id = MessageId::new(number, 7);
        Message {
            withheld: size,
            ..Message::of(&NewMessage::to("billing"), id, Timestamp::default())
        }
    }

    #[test]
    fn a_part_is_cut_where_there_is_no_room() {
        let bytes = Bytes {
            all: 200_000,
            largest: 50_000,
        };
        let mut messages: Vec<Message> = [
            None,
            Some(40_000),
            Some(1 << 30),
            Some(40_000),
            Some(40_000),
            None,
        ]
        .into_iter()
        .zip(1..)
        .map(|(size, number)| message(number, size))
        .collect();
        let mut room = Room::of(bytes);
        let (chosen, cut) = room.choose(&mut messages, true);
        assert_eq!((chosen, cut), (vec![(0, 2), (0, 4)], true));
        assert_eq!(
            messages.len(),
            4,
            "the one that is too large for all is among them"
        );
        fill(messages.iter_mut(), vec![message(2, None), message(4, None)]);
        let withheld: Vec<i64> = messages
            .iter()
            .filter(|message| message.withheld.is_some())
            .map(Message::number)
            .collect();
        assert_eq!(withheld, [3]);
    }

    #[test]
    fn the_first_comes_whatever_its_size() {
        let bytes = Bytes {
            all: 10,
            largest: 50_000,
        };
        for (one, count) in [(true, 1), (false, 0)] {
            let mut messages = vec![message(1, Some(40_000)), message(2, Some(40_000))];
            let mut room = Room::of(bytes).part(4);
            let (chosen, cut) = room.choose(&mut messages, one);
            assert_eq!((chosen.len(), messages.len(), cut), (count, count, true));
        }
    }
}
