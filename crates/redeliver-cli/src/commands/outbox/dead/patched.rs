//! What a patch of many dead letters would do, and what it did, in JSON.

use redeliver_outbox::{
    MessageId,
    desk::{Edit, Patch, PatchPreview, Patched, Record, Refused, unpatched},
    destination::Routes,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::super::form::PayloadForm;

/// What a patch would be for, and what it would do to a few of them.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PatchPreviewForm<'a> {
    /// Dead letters that match.
    matching: u64,
    /// How many of them would be patched, the oldest first.
    chosen: usize,
    /// How each of them is now: given back with the patch, it keeps the patch from those that were changed meanwhile.
    seen: String,
    /// The oldest of them.
    sample: Vec<SampleForm<'a>>,
}

impl<'a> PatchPreviewForm<'a> {
    pub(crate) fn of(preview: &'a PatchPreview, patch: &Patch, routes: &Routes) -> Self {
        let sample = preview.sample.iter();
        Self {
            matching: preview.matched,
            chosen: preview.sight.len(),
            seen: preview.sight.to_string(),
            sample: sample
                .map(|letter| SampleForm::of(letter, patch, routes))
                .collect(),
        }
    }
}

/// What a patch would do to one of them.
#[derive(Debug, Serialize, ToSchema)]
struct SampleForm<'a> {
    id: String,
    number: i64,
    destination: &'a str,
    /// Whether it would be changed: not if it is so already, or if its payload is no JSON.
    changes: bool,
    /// Why it would not.
    note: Option<&'static str>,
    before: PayloadForm,
    /// The payload then; none if it stays.
    after: Option<PayloadForm>,
    /// Where it would go then; none if that stays.
    new_destination: Option<String>,
}

impl<'a> SampleForm<'a> {
    fn of(letter: &'a Record, patch: &Patch, routes: &Routes) -> Self {
        let edit = patch.shown(letter, &letter.secrecy(routes));
        let note = note(letter, edit.as_ref());
        let edit = edit.unwrap_or_default();
        Self {
            id: letter.id.to_string(),
            number: letter.id.number(),
            destination: &letter.destination,
            changes: note.is_none(),
            note,
            before: letter.payload.as_ref().map(PayloadForm::of).unwrap_or_default(),
            after: edit.payload.as_ref().map(PayloadForm::of),
            new_destination: edit.destination,
        }
    }
}

/// Why a patch does nothing to a dead letter; none if it does.
pub(crate) fn note(letter: &Record, edit: Option<&Edit>) -> Option<&'static str> {
    match edit {
        None => Some(unpatched(letter)),
        Some(edit) if *edit == Edit::default() => Some("it is so already"),
        Some(_) => None,
    }
}

/// What a patch did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PatchedForm<'a> {
    /// Changed.
    edited: Vec<String>,
    /// Not changed, because they were so already.
    unchanged: Vec<String>,
    /// Not changed, because something happened to them since they were seen, or something else speaks against it.
    refused: Vec<RefusedForm<'a>>,
}

impl<'a> PatchedForm<'a> {
    pub(crate) fn of(patched: &'a Patched) -> Self {
        let named = |ids: &[MessageId]| ids.iter().map(MessageId::to_string).collect();
        Self {
            edited: named(&patched.edited),
            unchanged: named(&patched.unchanged),
            refused: patched.refused.iter().map(RefusedForm::of).collect(),
        }
    }
}

/// One that was not changed.
#[derive(Debug, Serialize, ToSchema)]
struct RefusedForm<'a> {
    number: i64,
    /// Where it is now; none if it is not there any more.
    status: Option<&'static str>,
    /// What happened to it, or what speaks against it.
    what: &'a str,
}

impl<'a> RefusedForm<'a> {
    fn of(refused: &'a Refused) -> Self {
        Self {
            number: refused.number,
            status: refused.status.map(|status| status.as_str()),
            what: &refused.what,
        }
    }
}
