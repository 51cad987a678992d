//! What the desks of all stores do alike: everything about it that is no statement.

use super::{Result, StoreError, StoreErrorKind};
#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::desk::DeadLetter;
use crate::{
    InvalidMessage, MessageId, NewMessage,
    desk::{Branch, Filter, MessageRef, Page},
    state::Status,
};

pub(super) mod chain;
pub(super) mod edit;
pub(super) mod examine;
pub(super) mod hold;
pub(super) mod issues;
pub(super) mod job;
pub(super) mod lane;
pub(super) mod overview;
pub(super) mod records;
pub(super) mod replay;
pub(super) mod rival;
pub(super) mod status;
pub(super) mod steps;
pub(super) mod storage;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) mod sweep;
pub(super) mod turn;

/// The filter and the page that find one message.
pub(super) fn only(message: MessageRef) -> (Filter, Page) {
    let filter = Filter {
        messages: vec![message],
        ..Filter::default()
    };
    (filter, first(1))
}

/// The filter and the page that find the oldest dead letters that match and that nobody has given up; none if the filter is for other
/// statuses.
pub(super) fn dead_letters(filter: &Filter, at_most: usize) -> Option<(Filter, Page)> {
    let asked = filter.statuses.is_empty() || filter.statuses.contains(&Status::DeadLettered);
    let filter = Filter {
        statuses: vec![Status::DeadLettered],
        ..filter.clone()
    };
    (asked && at_most > 0).then(|| (filter, first(at_most)))
}

/// The filter and the page that find one dead letter that nobody has given up.
pub(super) fn letter(id: MessageId) -> (Filter, Page) {
    let filter = Filter {
        messages: vec![MessageRef::Id(id)],
        statuses: vec![Status::DeadLettered],
        ..Filter::default()
    };
    (filter, first(1))
}

/// The filter and the page that find the messages that were made of an event.
pub(super) fn branches(fan_out: &[Branch]) -> (Filter, Page) {
    let filter = Filter {
        messages: fan_out
            .iter()
            .map(|branch| MessageRef::Number(branch.number))
            .collect(),
        ..Filter::default()
    };
    (filter, first(fan_out.len()))
}

/// The page that finds these numbers again, which are in their order, and whatever lies between them; none if there are none.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) fn again(numbers: &[i64]) -> Option<Page> {
    let (first, last) = (numbers.first()?, numbers.last()?);
    Some(Page {
        after: Some(first - 1),
        until: Some(*last),
        limit: usize::MAX,
        newest_first: false,
    })
}

const fn first(limit: usize) -> Page {
    Page {
        until: None,
        after: None,
        limit,
        newest_first: false,
    }
}

/// Nothing is inserted unless everything can be.
pub(super) fn check<'a>(messages: impl ExactSizeIterator<Item = &'a NewMessage>) -> Result<()> {
    let count = messages.len();
    for (at, message) in messages.enumerate() {
        message
            .validate()
            .map_err(|invalid| refused(&invalid, at, count))?;
    }
    Ok(())
}

/// The messages of dead letters from elsewhere. A key that kept them from being inserted twice there says nothing here.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) fn unkeyed(letters: &[DeadLetter]) -> Vec<NewMessage> {
    let unkeyed = |letter: &DeadLetter| NewMessage {
        deduplication_key: None,
        ..letter.message.clone()
    };
    letters.iter().map(unkeyed).collect()
}

/// What is wrong, and with which of several.
fn refused(invalid: &InvalidMessage, at: usize, of: usize) -> StoreError {
    let what = if of > 1 {
        format!("{invalid} (it is number {} of {of})", at + 1)
    } else {
        invalid.to_string()
    };
    StoreError::new(StoreErrorKind::BadInput, what)
}

/// A statement takes only so many parameters.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) fn check_named(filter: &Filter, most: usize) -> Result<()> {
    let named = filter.messages.len();
    if named <= most {
        return Ok(());
    }
    let what = format!("{named} messages were named, and {most} are possible at a time");
    let next = "name fewer at a time, or describe them by destination, reason or error";
    Err(StoreError::new(StoreErrorKind::BadInput, what).next(next))
}
