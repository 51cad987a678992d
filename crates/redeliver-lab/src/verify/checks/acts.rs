//! What operators do: as the state machine says, to what was asked for and to nothing else, and written down.

use std::collections::BTreeMap;

use redeliver_outbox::{MessageId, desk::Act, state};

use crate::verify::{
    look::{self, Seen},
    world::World,
};

/// The tables before an act.
#[derive(Debug, Default)]
pub(in crate::verify) struct Before {
    places: BTreeMap<i64, Vec<Seen>>,
    ids: Vec<MessageId>,
    totals: [i64; 4],
    audited: i64,
}

impl Before {
    /// How many acts there were.
    pub(in crate::verify) const fn acts(&self) -> i64 {
        self.audited
    }

    /// The ids of the messages that were looked at.
    pub(in crate::verify) fn ids(&self) -> Vec<MessageId> {
        self.ids.clone()
    }
}

pub(in crate::verify) fn look(world: &World, numbers: &[i64]) -> Before {
    let before = world.look(|connection| {
        let mut before = Before {
            totals: look::totals(connection)?,
            audited: connection.query_row("SELECT COUNT(*) FROM redeliver_audit", [], |row| row.get(0))?,
            ..Before::default()
        };
        for &number in numbers {
            before.places.insert(number, look::places(connection, number)?);
            let salt = "SELECT salt FROM redeliver_dead WHERE number = ?1 UNION SELECT salt FROM redeliver_outbox WHERE number = ?1";
            for salt in look::numbers(connection, salt, [number])? {
                before.ids.push(MessageId::new(number, salt));
            }
        }
        Ok(before)
    });
    before.unwrap_or_default()
}

pub(in crate::verify) fn check(
    world: &World,
    before: &Before,
    act: &Act,
    action: &str,
    event: state::Event,
    ids: &[MessageId],
) {
    let numbers: Vec<i64> = ids.iter().map(|id| id.number()).collect();
    let asked: Vec<i64> = before.places.keys().copied().collect();
    if numbers != asked {
        world.object(
            "acts",
            None,
            format!("{action} was asked for {asked:?}, and did it to {numbers:?}"),
        );
    }
    let after = look(world, &numbers);
    let now = world.clocks.database();
    for &number in &numbers {
        let (Some([old]), Some(new)) = (
            before.places.get(&number).map(Vec::as_slice),
            after.places.get(&number),
        ) else {
            continue;
        };
        let wanted = state::apply(old.state, event, now);
        let right = matches!((new.as_slice(), wanted), ([new], Ok(wanted)) if new.state == wanted);
        if !right {
            world.object(
                "acts",
                Some(number),
                format!("{action} made {new:?} of {old:?}; it should be {wanted:?}"),
            );
        }
        let audited = world.look(|connection| {
            let sql = "SELECT COUNT(*) FROM redeliver_audit
                       WHERE message_number = ?1 AND action = ?2 AND who = ?3 AND why = ?4 AND at = ?5";
            connection.query_row(
                sql,
                (number, action, &act.who, &act.why, now.as_millis()),
                |row| row.get(0),
            )
        });
        if audited != Some(1_i64) {
            world.object(
                "audit",
                Some(number),
                format!("there are {audited:?} records of its {action}; there should be one"),
            );
        }
    }
    if after.audited - before.audited != numbers.len() as i64 {
        let (from, to) = (before.audited, after.audited);
        world.object(
            "audit",
            None,
            format!(
                "{action} of {} messages made {to} records of {from}",
                numbers.len()
            ),
        );
    }
    let sum = |totals: &[i64; 4]| totals[..3].iter().sum::<i64>();
    if sum(&before.totals) != sum(&after.totals) {
        world.object(
            "acts",
            None,
            format!(
                "{action} took the tables from {:?} to {:?}",
                before.totals, after.totals
            ),
        );
    }
}
