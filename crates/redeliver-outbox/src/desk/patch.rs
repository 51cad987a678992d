//! Changing many dead letters in the same way: what would change first, then those that are still as they were seen.

use std::{fmt, str::FromStr};

use serde_json::{Map, Value};

use super::{Act, Desk, Edit, Filter, MessageRef, Page, Record, Seen};
use crate::{
    MessageId, NewMessage, Payload,
    limits::{PATCH_BATCH, PATCH_LIMIT, PATCH_SAMPLE},
    members::patched,
    secrecy::Secrecy,
    state::Status,
    store::{Result, StoreError, StoreErrorKind},
};

/// What is to be changed in each of many dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// A JSON Merge Patch (RFC 7396) of the payload: what it names is set, null removes it, and what it does not name stays as it was
    /// written. Empty leaves the payload alone.
    pub fields: Map<String, Value>,
    /// The new destination.
    pub destination: Option<String>,
}

impl Patch {
    /// Whether it changes nothing in any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.destination.is_none()
    }

    /// What it changes in this one: nothing, if it is so already; none if its payload is no JSON, so that nothing can be done to it.
    #[must_use]
    pub fn edit(&self, record: &Record) -> Option<Edit> {
        let payload = match self.fields.is_empty() {
            true => None,
            false => {
                let before = record.payload.as_ref().and_then(Payload::as_text)?;
                let after = patched(before, &self.fields)?;
                let same = patched(before, &Map::new()).is_some_and(|same| same == after);
                // Where some of it is hidden, the desk does to the whole of it what the patch says.
                let after = match record.hidden {
                    Some(_) => Value::Object(self.fields.clone()).to_string(),
                    None => after,
                };
                (!same).then(|| Payload::from(after))
            }
        };
        let moves = self.destination.as_ref();
        Some(Edit {
            payload,
            destination: moves.filter(|new| **new != record.destination).cloned(),
            ..Edit::default()
        })
    }

    /// The same as it may be shown to somebody who may not see everything.
    #[must_use]
    pub fn shown(&self, record: &Record, secrecy: &Secrecy) -> Option<Edit> {
        let edit = self.edit(record)?;
        let payload = match (&record.payload, &edit.payload) {
            (Some(before), Some(change)) => Some(secrecy.seen_after(before, change)),
            _ => None,
        };
        Some(Edit { payload, ..edit })
    }
}

/// Dead letters that somebody looked at, by number, and how each of them was: as a text, `41:0.2,42:0.0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight(Vec<(i64, Seen)>);

impl Sight {
    /// How many they are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the message of this number is among them.
    #[must_use]
    pub fn contains(&self, number: i64) -> bool {
        self.0.binary_search_by_key(&number, |(seen, _)| *seen).is_ok()
    }

    /// Whether there was none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (number, seen)) in self.0.iter().enumerate() {
            let joint = if place == 0 { "" } else { "," };
            write!(f, "{joint}{number}:{seen}")?;
        }
        Ok(())
    }
}

/// What does not say which dead letters were looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be as the preview told it, such as 41:0.2,42:0.0, of at most {PATCH_LIMIT} dead letters, each once"
)]
pub struct NoSight;

impl FromStr for Sight {
    type Err = NoSight;

    fn from_str(text: &str) -> std::result::Result<Self, NoSight> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let one = |text: &str| {
            let (number, seen) = text.split_once(':')?;
            let number = number.parse().ok().filter(|number| *number >= 0)?;
            Some((number, seen.parse().ok()?))
        };
        let several = text.split(',').take(PATCH_LIMIT + 1).map(one);
        let letters: Vec<(i64, Seen)> = several.collect::<Option<_>>().ok_or(NoSight)?;
        let in_order = letters.is_sorted_by(|(one, _), (next, _)| one < next);
        match in_order && letters.len() <= PATCH_LIMIT {
            true => Ok(Self(letters)),
            false => Err(NoSight),
        }
    }
}

/// What a patch would be for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchPreview {
    /// Dead letters that match.
    pub matched: u64,
    /// Those that would be patched, as they are now.
    pub sight: Sight,
    /// The oldest of them, with their payloads.
    pub sample: Vec<Record>,
}

/// What a patch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patched {
    /// Changed.
    pub edited: Vec<MessageId>,
    /// Not changed, because they were so already.
    pub unchanged: Vec<MessageId>,
    /// Not changed, because something speaks against it.
    pub refused: Vec<Refused>,
}

/// A dead letter that was not patched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its number.
    pub number: i64,
    /// Where it is now; none if it is not there any more.
    pub status: Option<Status>,
    /// What happened to it since it was seen, or what else speaks against it, without a full stop.
    pub what: String,
}

pub(super) async fn preview<D: Desk + ?Sized>(
    desk: &D,
    filter: &Filter,
    at_most: Option<usize>,
) -> Result<PatchPreview> {
    let filter = Filter {
        statuses: vec![Status::DeadLettered],
        ..filter.clone()
    };
    let matched = desk.count(&filter).await?;
    let meant = at_most.map_or(matched, |most| matched.min(most as u64));
    let limit = usize::try_from(meant).ok().filter(|meant| *meant <= PATCH_LIMIT);
    let limit = limit.ok_or_else(|| {
        let what = format!("{meant} dead letters are meant, and at most {PATCH_LIMIT} are patched at a time");
        StoreError::new(StoreErrorKind::BadInput, what).next("narrow them, or take fewer at a time")
    })?;
    let mut preview = PatchPreview {
        matched,
        sight: Sight::default(),
        sample: Vec::new(),
    };
    if limit == 0 {
        return Ok(preview);
    }
    // In this order: whatever is done between these looks, the sight is older than the sample, and a patch is refused rather than blind.
    let letters = desk.list(&filter, first(limit), false).await?;
    let ids: Vec<MessageId> = letters.iter().map(|letter| letter.id).collect();
    let newest = desk.newest_acts(&ids).await?;
    let seen = letters.iter().zip(newest).map(|(letter, newest_act)| {
        let redrives = letter.redrives;
        (letter.id.number(), Seen { redrives, newest_act })
    });
    preview.sight = Sight(seen.collect());
    preview.sample = desk.list(&filter, first(limit.min(PATCH_SAMPLE)), true).await?;
    Ok(preview)
}

const fn first(limit: usize) -> Page {
    Page {
        after: None,
        until: None,
        limit,
        newest_first: false,
    }
}

pub(super) async fn patch<D: Desk + ?Sized>(
    desk: &D,
    patch: &Patch,
    sight: &Sight,
    act: &Act,
) -> Result<Patched> {
    if patch.is_empty() {
        let what = "the patch changes nothing";
        let next = "name at least one field, or another destination";
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next(next));
    }
    if let Some(to) = &patch.destination {
        let wrong = NewMessage::to(to).payload("").validate().err();
        wrong.map_or(Ok(()), |wrong| {
            Err(StoreError::new(StoreErrorKind::BadInput, wrong.to_string()))
        })?;
    }
    let mut patched = Patched::default();
    for some in sight.0.chunks(PATCH_BATCH) {
        if let Err(error) = several(desk, patch, some, act, &mut patched).await {
            let done = patched.edited.len();
            let what = format!("{done} dead letters were patched, and then: {error}");
            let next = "preview it again: what is changed already is left alone";
            return Err(StoreError::new(error.kind(), what).next(next).caused_by(error));
        }
    }
    Ok(patched)
}

async fn several<D: Desk + ?Sized>(
    desk: &D,
    patch: &Patch,
    seen: &[(i64, Seen)],
    act: &Act,
    patched: &mut Patched,
) -> Result<()> {
    let filter = Filter {
        messages: seen
            .iter()
            .map(|(number, _)| MessageRef::Number(*number))
            .collect(),
        statuses: vec![Status::DeadLettered],
        ..Filter::default()
    };
    let letters = desk.list(&filter, first(seen.len()), true).await?;
    for &(number, seen) in seen {
        let Some(letter) = letters.iter().find(|letter| letter.id.number() == number) else {
            patched.refused.push(happened(desk, number, seen).await?);
            continue;
        };
        let refused = |what: String| Refused {
            number,
            status: Some(letter.status),
            what,
        };
        let Some(edit) = patch.edit(letter) else {
            patched.refused.push(refused(unpatched(letter).to_owned()));
            continue;
        };
        if edit == Edit::default() {
            patched.unchanged.push(letter.id);
            continue;
        }
        let edit = Edit {
            seen: Some(seen),
            ..edit
        };
        match desk.edit(MessageRef::Id(letter.id), &edit, act).await {
            Ok(()) => patched.edited.push(letter.id),
            Err(error) => match error.kind() {
                StoreErrorKind::NotFound => patched.refused.push(happened(desk, number, seen).await?),
                StoreErrorKind::BadInput => patched.refused.push(refused(error.to_string())),
                _ => return Err(error),
            },
        }
    }
    Ok(())
}

/// What became of one that is not as it was seen.
async fn happened<D: Desk + ?Sized>(desk: &D, number: i64, seen: Seen) -> Result<Refused> {
    let found = desk.find(MessageRef::Number(number)).await?;
    let status = found.as_ref().map(|detail| detail.record.status);
    let what = match found {
        None => "it is not there any more".to_owned(),
        Some(detail) if detail.seen() == seen && detail.record.status != Status::DeadLettered => {
            format!("it is {}, and no dead letter any more", detail.record.status)
        }
        Some(detail) => seen.since(detail.seen(), &detail.audit),
    };
    Ok(Refused { number, status, what })
}

/// Why nothing can be done to a letter.
#[must_use]
pub fn unpatched(letter: &Record) -> &'static str {
    match letter.hidden {
        Some(hidden) if hidden.whole => "all of its payload is hidden, and so it cannot be patched",
        _ => "its payload is no JSON",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sight_comes_back_as_it_was_told() {
        let sight = Sight(vec![
            (
                41,
                Seen {
                    redrives: 0,
                    newest_act: 2,
                },
            ),
            (
                42,
                Seen {
                    redrives: 1,
                    newest_act: 0,
                },
            ),
        ]);
        assert_eq!(sight.to_string(), "41:0.2,42:1.0");
        assert_eq!(sight.to_string().parse(), Ok(sight));
        assert_eq!("".parse(), Ok(Sight::default()));
        for wrong in [
            ",",
            "41",
            "41:0.2,",
            "-1:0.0",
            "41:0",
            "42:0.0,41:0.0",
            "41:0.0,41:0.0",
            "a:0.0",
        ] {
            assert_eq!(wrong.parse::<Sight>(), Err(NoSight), "{wrong}");
        }
        let many: Vec<String> = (0..=PATCH_LIMIT).map(|number| format!("{number}:0.0")).collect();
        assert!(many[..PATCH_LIMIT].join(",").parse::<Sight>().is_ok());
        assert_eq!(many.join(",").parse::<Sight>(), Err(NoSight));
    }
}
