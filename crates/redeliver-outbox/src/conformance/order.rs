//! Numbers are given before the commit. Whatever commits late is found, and a lane keeps its order.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

use super::{
    Factory, OpenTransaction,
    failure::{Outcome, check, same},
    subject::{Subject, Worker, demand},
};
use crate::Message;

async fn insert(transaction: &mut dyn OpenTransaction, key: &str, payload: &str) -> Outcome {
    let statement = format!(
        "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('billing', '{key}', '{payload}')"
    );
    Ok(transaction.execute(&statement).await?)
}

async fn insert_alone(subject: &Subject, key: &str, payload: &str) -> Outcome {
    let mut transaction = subject.harness.begin().await?;
    insert(&mut *transaction, key, payload).await?;
    Ok(transaction.commit().await?)
}

fn payloads(messages: &[Message]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|message| message.payload.as_text())
        .collect()
}

/// Nothing more comes, however often one looks.
async fn nothing_more(worker: &mut Worker) -> Outcome {
    for _ in 0..3 {
        let read = worker.read_fresh().await?;
        check!(read.is_empty(), "read a second time: {:?}", payloads(&read));
    }
    Ok(())
}

pub(super) async fn s060_a_late_commit_is_found(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut worker = subject.worker("w").await?;
    let mut late = subject.harness.begin().await?;
    insert(&mut *late, "late", "late").await?;
    if subject.harness.one_writer() {
        // Nobody can write meanwhile; what was written is seen as soon as it is committed, and not before.
        same!(
            worker.read_fresh().await?.len(),
            0,
            "messages before their commit"
        );
        late.commit().await?;
        insert_alone(&subject, "early", "early").await?;
        same!(
            payloads(&worker.read_until(2).await?),
            ["late", "early"],
            "messages after their commits"
        );
    } else {
        insert_alone(&subject, "early", "early").await?;
        same!(
            payloads(&worker.read_until(1).await?),
            ["early"],
            "what was committed first"
        );
        late.commit().await?;
        same!(
            payloads(&worker.read_until(1).await?),
            ["late"],
            "what was committed late"
        );
    }
    nothing_more(&mut worker).await
}

pub(super) async fn s061_a_long_transaction_holds_nobody_up(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut worker = subject.worker("w").await?;
    if subject.harness.one_writer() {
        insert_alone(&subject, "k", "0").await?;
        same!(worker.read_until(1).await?.len(), 1, "messages read");
        return nothing_more(&mut worker).await;
    }
    let mut long = subject.harness.begin().await?;
    insert(&mut *long, "long", "long").await?;
    for round in 0..20 {
        let payload = round.to_string();
        insert_alone(&subject, &format!("k{round}"), &payload).await?;
        same!(
            payloads(&worker.read_until(1).await?),
            [payload.as_str()],
            "what others committed meanwhile"
        );
    }
    long.commit().await?;
    same!(
        payloads(&worker.read_until(1).await?),
        ["long"],
        "what was open for long"
    );
    nothing_more(&mut worker).await
}

pub(super) async fn s062_a_late_rollback_leaves_nothing(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let mut worker = subject.worker("w").await?;
    let mut late = subject.harness.begin().await?;
    insert(&mut *late, "late", "late").await?;
    if subject.harness.one_writer() {
        late.roll_back().await?;
        insert_alone(&subject, "early", "early").await?;
    } else {
        insert_alone(&subject, "early", "early").await?;
        worker.read_until(1).await?;
        late.roll_back().await?;
        insert_alone(&subject, "next", "next").await?;
    }
    same!(
        worker.read_until(1).await?.len(),
        1,
        "messages after the rollback"
    );
    nothing_more(&mut worker).await
}

pub(super) async fn s063_a_lanes_order_holds_across_a_late_commit(factory: &dyn Factory) -> Outcome {
    for limit in [1, 2, 100] {
        let subject = Subject::fresh(factory, 1).await?;
        let mut worker = subject.worker("w").await?;
        let mut first = subject.harness.begin().await?;
        insert(&mut *first, "lane", "first").await?;
        if !subject.harness.one_writer() {
            insert_alone(&subject, "other", "other").await?;
            same!(
                payloads(&worker.read_until(1).await?),
                ["other"],
                "what was committed first"
            );
        }
        first.commit().await?;
        // Its writer has seen the first one, so it comes after it.
        insert_alone(&subject, "lane", "second").await?;
        let begun = redeliver::clock::wall();
        let mut read = Vec::new();
        while read.len() < 2 {
            read.extend(worker.reader.read(&demand(limit, 10)).await?.fresh);
            check!(
                redeliver::clock::wall().saturating_sub(begun).as_secs() < 20,
                "only {:?} were found",
                payloads(&read)
            );
        }
        same!(
            payloads(&read),
            ["first", "second"],
            "the lane with a limit of {limit}"
        );
        nothing_more(&mut worker).await?;
    }
    Ok(())
}

pub(super) async fn s064_late_commits_in_a_shard_that_was_read_by_another_before(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let mut first = subject.worker("a").await?;
    if subject.harness.one_writer() {
        insert_alone(&subject, "k", "0").await?;
        same!(first.read_until(1).await?.len(), 1, "messages read");
        return nothing_more(&mut first).await;
    }
    let mut late = subject.harness.begin().await?;
    insert(&mut *late, "late", "late").await?;
    insert_alone(&subject, "early", "early").await?;
    first.read_until(1).await?;
    subject.store.release(&first.id, &first.leases(), true).await?;
    let mut second = subject.worker("b").await?;
    same!(
        payloads(&second.read_until(1).await?),
        ["early"],
        "what the next owner reads first"
    );
    late.commit().await?;
    same!(
        payloads(&second.read_until(1).await?),
        ["late"],
        "what was committed under the next owner"
    );
    nothing_more(&mut second).await
}

/// An open transaction, and the keys and payloads that it inserted.
type Writer = (Box<dyn OpenTransaction>, Vec<(u8, String)>);

/// Writers that serialise on their keys, as they must to have an order: who holds a key keeps it to the end of its transaction.
struct Writers {
    rng: Rng,
    open: Vec<Writer>,
    held: BTreeSet<u8>,
    committed: BTreeMap<u8, Vec<String>>,
    inserted: usize,
}

const KEYS: u8 = 6;

fn by_key(messages: &[Message]) -> BTreeMap<u8, Vec<String>> {
    let mut keys: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for message in messages {
        let key = message
            .key
            .as_deref()
            .and_then(|key| key.strip_prefix('k')?.parse().ok());
        let payload = message.payload.as_text().unwrap_or_default().to_owned();
        keys.entry(key.unwrap_or(u8::MAX)).or_default().push(payload);
    }
    keys
}

impl Writers {
    /// One step of somebody: begin, insert, commit or roll back.
    async fn step(&mut self, subject: &Subject) -> Outcome {
        let at_most = if subject.harness.one_writer() { 1 } else { 5 };
        let begin = self.open.is_empty() || (self.open.len() < at_most && self.rng.bool());
        if begin {
            self.open.push((subject.harness.begin().await?, Vec::new()));
            return Ok(());
        }
        let index = self.rng.usize(..self.open.len());
        if self.rng.u8(..10) < 6 {
            let key = self.rng.u8(..KEYS);
            let (transaction, rows) = &mut self.open[index];
            let mine = rows.iter().any(|(held, _)| *held == key);
            if mine || self.held.insert(key) {
                let payload = self.inserted.to_string();
                self.inserted += 1;
                insert(&mut **transaction, &format!("k{key}"), &payload).await?;
                rows.push((key, payload));
            }
            return Ok(());
        }
        let rolled_back = self.rng.u8(..5) == 0;
        self.end(index, rolled_back).await
    }

    async fn end(&mut self, index: usize, rolled_back: bool) -> Outcome {
        let (transaction, rows) = self.open.swap_remove(index);
        if rolled_back {
            transaction.roll_back().await?;
        } else {
            transaction.commit().await?;
        }
        for (key, payload) in rows {
            self.held.remove(&key);
            if !rolled_back {
                self.committed.entry(key).or_default().push(payload);
            }
        }
        Ok(())
    }

    fn count(&self) -> usize {
        self.committed.values().map(Vec::len).sum()
    }
}

pub(super) async fn s065_random_writers_and_a_reader(factory: &dyn Factory) -> Outcome {
    for seed in 1..=4 {
        let subject = Subject::fresh(factory, 3).await?;
        let mut worker = subject.worker("w").await?;
        let mut writers = Writers {
            rng: Rng::with_seed(seed),
            open: Vec::new(),
            held: BTreeSet::new(),
            committed: BTreeMap::new(),
            inserted: 0,
        };
        let mut read = Vec::new();
        for _ in 0..150 {
            writers.step(&subject).await?;
            if writers.rng.u8(..3) == 0 {
                let limit = writers.rng.usize(1..6);
                read.extend(worker.reader.read(&demand(limit, 0)).await?.fresh);
            }
        }
        while !writers.open.is_empty() {
            writers.end(0, false).await?;
        }
        // What is missing after that is lost; the comparison below says which.
        let begun = redeliver::clock::wall();
        while read.len() < writers.count() && redeliver::clock::wall().saturating_sub(begun).as_secs() < 20 {
            read.extend(worker.reader.read(&demand(5, 0)).await?.fresh);
        }
        nothing_more(&mut worker).await?;
        let read = by_key(&read);
        same!(
            read,
            writers.committed,
            "seed {seed}: what was read by key, and what was committed"
        );
    }
    Ok(())
}
