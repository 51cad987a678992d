use std::collections::HashMap;

use crate::{
    Message, Timestamp,
    plants::{Plant, planted},
    store::{Claimed, Lease, Left},
};

/// How a message came to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// On the way forward, or read again after it was let go.
    Fresh,
    /// Its time has come.
    Due,
}

/// A shard that this relay owns.
#[derive(Debug)]
pub(super) struct Shard {
    pub lease: Lease,
    /// On its way out: nothing new is begun.
    pub leaving: bool,
    /// Everything that was there when it was taken over has been seen. Before that, a due message may have predecessors in its lane
    /// that nobody has come to yet.
    pub caught_up: bool,
    /// Messages of it that are held.
    pub held: usize,
    suspects: Option<Suspects>,
}

/// Which messages may have been on their way when the owner before went silent. One of them may be what ended it, so their
/// attempts are counted before the send; only what can have been in its window pays for that.
#[derive(Debug)]
struct Suspects {
    /// Inserted before the takeover.
    highest: i64,
    /// The most that it held.
    window: u32,
    /// Without a key: the first ones of each destination, as many as it could hold. (Those with a key may have been let go and
    /// overtaken by any number of others, so all of them count.)
    unkeyed: HashMap<String, Unkeyed>,
    /// Scheduled: those that nobody has attempted since the first look, however often they were put off meanwhile.
    since: Option<Timestamp>,
}

/// Messages of one destination without a key.
#[derive(Debug)]
struct Unkeyed {
    /// So many more are suspect.
    left: u32,
    /// The last of those so far: what is let go and read again is as suspect as before.
    through: i64,
}

impl Shard {
    pub(super) fn new(claimed: &Claimed) -> Self {
        let suspects = match claimed.left {
            Left::Clean => None,
            Left::Crashed { window } => Some(Suspects {
                highest: claimed.highest,
                window,
                unkeyed: HashMap::new(),
                since: None,
            }),
        };
        Self {
            lease: claimed.lease,
            leaving: false,
            caught_up: false,
            held: 0,
            suspects,
        }
    }

    /// Whether the message may have been on its way when the owner before ended.
    pub(super) fn suspects(&mut self, message: &Message, source: Source, now: Timestamp) -> bool {
        let Some(suspects) = &mut self.suspects else {
            return false;
        };
        if planted(Plant::SuspectsNotCounted) {
            return false;
        }
        if message.number() > suspects.highest {
            return false;
        }
        match source {
            Source::Due => {
                let since = *suspects.since.get_or_insert(now);
                message.last_attempt_at.is_none_or(|attempt| attempt <= since)
            }
            Source::Fresh if message.key.is_some() => true,
            Source::Fresh => {
                let number = message.number();
                let unkeyed = suspects
                    .unkeyed
                    .entry(message.destination.clone())
                    .or_insert(Unkeyed {
                        left: suspects.window,
                        through: 0,
                    });
                if number > unkeyed.through && unkeyed.left > 0 {
                    unkeyed.left -= 1;
                    unkeyed.through = number;
                }
                number <= unkeyed.through
            }
        }
    }

    /// Whether something may be left of what was on its way when the owner before ended. Given back now, the next owner has to
    /// suspect it as well.
    pub(super) const fn has_suspects(&self) -> bool {
        self.suspects.is_some()
    }

    /// The shard is empty: whatever was suspect has had its end.
    pub(super) fn acquit(&mut self) {
        self.suspects = None;
    }
}
