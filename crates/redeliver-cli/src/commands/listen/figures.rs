//! What a receiver has seen in all.

use serde::Serialize;

use super::verdict::{Signature, Verdict};

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Figures {
    /// Those that were answered.
    pub(super) requests: u64,
    #[serde(skip)]
    begun: u64,
    taken: u64,
    skipped: u64,
    failed: u64,
    unbelieved: u64,
    unread: u64,
    undone: u64,
    ids: u64,
    duplicates: u64,
    valid_signatures: u64,
}

impl Figures {
    /// The number of one that has come, from 0.
    pub(super) const fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun - 1
    }

    pub(super) fn count(&mut self, verdict: &Verdict, signature: &Signature, first: bool, duplicate: bool) {
        self.requests += 1;
        let kind = match verdict {
            Verdict::Taken => &mut self.taken,
            Verdict::Skipped => &mut self.skipped,
            Verdict::Fails(_) => &mut self.failed,
            Verdict::Unbelieved => &mut self.unbelieved,
            Verdict::Unread(..) => &mut self.unread,
            Verdict::Undone(_) => &mut self.undone,
        };
        *kind += 1;
        self.ids += u64::from(first);
        self.duplicates += u64::from(duplicate);
        self.valid_signatures += u64::from(*signature == Signature::Valid);
    }

    /// Whether everything was as it should be, what failed on purpose included.
    pub(super) const fn is_clean(&self) -> bool {
        self.unbelieved + self.unread + self.undone == 0
    }

    pub(super) fn words(&self) -> String {
        let mut words = format!(
            "{} requests with {} ids: {} taken, {} failed on purpose, {} duplicates",
            self.requests, self.ids, self.taken, self.failed, self.duplicates
        );
        for (count, what) in [
            (self.skipped, "skipped by the inbox"),
            (self.valid_signatures, "with a valid signature"),
            (self.unbelieved, "not signed as they should be"),
            (self.unread, "not read"),
            (self.undone, "not worked on"),
        ] {
            if count > 0 {
                words.push_str(&format!(", {count} {what}"));
            }
        }
        words
    }
}
