use crate::{
    Message, Timestamp,
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
    /// Without a key: the first ones, as many as it could hold. (Those with a key may have been let go and overtaken by any number
    /// of others, so all of them count.)
    unkeyed: u32,
    /// The last of those: what is let go and read again is as suspect as before.
    unkeyed_through: i64,
    /// Due before the first look.
    due_until: Option<Timestamp>,
}

impl Shard {
    pub(super) fn new(claimed: &Claimed) -> Self {
        let suspects = match claimed.left {
            Left::Clean => None,
            Left::Crashed { window } => Some(Suspects {
                highest: claimed.highest,
                unkeyed: window,
                unkeyed_through: 0,
                due_until: None,
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
        if message.number() > suspects.highest {
            return false;
        }
        match source {
            Source::Due => {
                let until = *suspects.due_until.get_or_insert(now);
                message.next_attempt_at.is_none_or(|due| due <= until)
            }
            Source::Fresh if message.key.is_some() => true,
            Source::Fresh => {
                let number = message.number();
                if number > suspects.unkeyed_through && suspects.unkeyed > 0 {
                    suspects.unkeyed -= 1;
                    suspects.unkeyed_through = number;
                }
                number <= suspects.unkeyed_through
            }
        }
    }
}
