//! What the relays say of themselves.

use std::{fmt, sync::Arc};

use redeliver_outbox::{
    Message,
    relay::{Happening, Witness},
    store::{Lease, Verdict},
};

use super::{
    checks::{holds, sends},
    destination::kind,
    history::{Event, Kind, ProcessId},
    record::Attempt,
    world::World,
};

/// Sees what one process does.
pub(super) struct Eyes {
    world: Arc<World>,
    process: ProcessId,
}

impl Eyes {
    pub(super) const fn new(world: Arc<World>, process: ProcessId) -> Self {
        Self { world, process }
    }

    fn sending(&self, message: &Message, attempt: u32, lease: Lease) {
        let (world, process, number) = (&self.world, self.process, message.number());
        let lease = lease.into();
        world.tell(Event::Sending {
            process,
            number,
            attempt,
            lease,
        });
        sends::check(world, process, message, attempt, lease);
        let now = world.now();
        let mut state = world.state();
        if let Some(sent) = state.records.messages.get_mut(&number) {
            sent.attempts.push(Attempt {
                process,
                lease,
                number: attempt,
                redrive: message.redrives,
                began: now,
                arrived: None,
                taken: false,
                heard: None,
                asked_wait_ms: 0,
                written: false,
            });
        }
        let life = state.records.life(process);
        life.busy.insert(number, lease);
        *life.flying.entry(message.destination.clone()).or_default() += 1;
    }
}

impl fmt::Debug for Eyes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Eyes").field(&self.process).finish()
    }
}

impl Witness for Eyes {
    fn saw(&self, happening: Happening<'_>) {
        let (world, process) = (&self.world, self.process);
        match happening {
            Happening::Sending {
                message,
                attempt,
                lease,
            } => self.sending(message, attempt, lease),
            Happening::Ended {
                message,
                attempt,
                lease,
                outcome,
                counts,
                ..
            } => {
                let (number, outcome) = (message.number(), kind(outcome));
                let lease = lease.into();
                if outcome == Kind::Gone {
                    holds::gone(world, process, &message.destination);
                }
                world.tell(Event::Ended {
                    process,
                    number,
                    attempt,
                    outcome,
                });
                let now = world.now();
                let mut state = world.state();
                let busy = &mut state.records.life(process).busy;
                if !counts && busy.get(&number) == Some(&lease) {
                    busy.remove(&number);
                }
                if let Some(flying) = state.records.life(process).flying.get_mut(&message.destination) {
                    *flying = flying.saturating_sub(1);
                }
                if let Some(sent) = state.records.messages.get_mut(&number) {
                    let ended = sent.attempts.iter_mut().rev().find(|known| {
                        let same = known.process == process && known.lease == lease;
                        same && known.number == attempt && known.heard.is_none()
                    });
                    if let Some(ended) = ended {
                        ended.heard = Some((outcome, now));
                        // It is as it was before: there is nothing to write.
                        ended.written |= !counts;
                    }
                }
            }
            Happening::Settled(settlement) if !matches!(settlement.verdict, Verdict::Counted { .. }) => {
                let mut state = world.state();
                state.records.life(process).busy.remove(&settlement.number());
            }
            Happening::Lost(lease) => {
                let lease = lease.into();
                world.tell(Event::Lost { process, lease });
                world
                    .state()
                    .records
                    .life(process)
                    .busy
                    .retain(|_, of| *of != lease);
            }
            Happening::Released(lease) => {
                let lease = lease.into();
                world
                    .state()
                    .records
                    .life(process)
                    .busy
                    .retain(|_, of| *of != lease);
            }
            _ => {}
        }
    }
}
