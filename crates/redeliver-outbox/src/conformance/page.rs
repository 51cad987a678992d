//! Pages of a list, while messages move from table to table.

use super::{
    Factory,
    failure::{Outcome, check, same},
    subject::{Subject, Worker, bury, delivered, only},
};
use crate::{
    MessageId,
    desk::{Filter, Page},
};

fn page(after: Option<i64>, limit: usize, newest_first: bool) -> Page {
    Page {
        until: None,
        after,
        limit,
        newest_first,
    }
}

pub(super) async fn s113_pages_are_complete_in_both_directions(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let mut expected = subject.enqueue_some(23).await?;
    for newest_first in [false, true] {
        let mut met = Vec::new();
        let mut after = None;
        loop {
            let records = subject
                .desk
                .list(&Filter::default(), page(after, 5, newest_first), false)
                .await?;
            check!(records.len() <= 5, "{} on a page of five", records.len());
            check!(
                records.iter().all(|record| record.payload.is_none()),
                "payloads come only if asked for"
            );
            let Some(last) = records.last() else { break };
            after = Some(last.id.number());
            met.extend(records.iter().map(|record| record.id));
        }
        same!(met, expected, "the pages, newest first: {newest_first}");
        expected.reverse();
    }
    let records = subject
        .desk
        .list(&Filter::default(), page(None, 1, false), true)
        .await?;
    check!(
        records.iter().all(|record| record.payload.is_some()),
        "payloads come if asked for"
    );
    Ok(())
}

pub(super) async fn s114_pages_repeat_nothing_while_messages_move(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let enqueued = subject.enqueue_some(24).await?;
    let mut met: Vec<MessageId> = Vec::new();
    let mut after = None;
    for step in 0.. {
        let records = subject
            .desk
            .list(&Filter::default(), page(after, 4, false), false)
            .await?;
        let Some(last) = records.last() else { break };
        after = Some(last.id.number());
        met.extend(records.iter().map(|record| record.id));
        move_some(&subject, &worker, &enqueued, step).await?;
        check!(step < 10, "24 messages on pages of four come to an end");
    }
    same!(met, enqueued, "the pages");
    Ok(())
}

/// One message goes to the history, one to the dead letters, one comes back from there.
async fn move_some(subject: &Subject, worker: &Worker, messages: &[MessageId], step: usize) -> Outcome {
    let pick = |offset: usize| messages[(step * 4 + offset) % messages.len()];
    subject.settle_one(worker, pick(0), delivered(1)).await?;
    subject.settle_one(worker, pick(5), bury()).await?;
    subject.settle_one(worker, pick(6), bury()).await?;
    subject.redrive(&only(pick(6))).await?;
    Ok(())
}
