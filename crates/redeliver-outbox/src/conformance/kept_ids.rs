//! What tells a message that comes a second time is kept for as long as the message can be sent again.

use super::{
    Factory,
    failure::{Outcome, same},
    subject::{Subject, delivered, only},
};
use crate::{MessageId, NewMessage, desk::Retention, limits};

fn message(key: &str) -> NewMessage {
    NewMessage::to("billing").payload("{}").deduplication_key(key)
}

/// A message of each kind, in the order of live, dead, discarded, sent; their keys and ids are old enough to be forgotten.
async fn old_ids(subject: &Subject) -> Outcome<[MessageId; 4]> {
    let worker = subject.worker("w").await?;
    let sent = subject.enqueue_one(message("sent")).await?;
    subject.settle_one(&worker, sent, delivered(1)).await?;
    let dead = subject.dead_letter(&worker, message("dead")).await?;
    let discarded = subject.dead_letter(&worker, message("discarded")).await?;
    subject.discard(&only(discarded)).await?;
    let live = subject.enqueue_one(message("live")).await?;
    let ids = [live, dead, discarded, sent];
    let past = subject.time_from_now(-8 * 24 * 3_600_000).await?;
    let told = ids.iter().map(MessageId::to_string);
    // Ids of somebody else's, which say nothing of ours.
    let strange = ["", "order-7", "zzzzzzzz-zzzz-8zzz-zzzz", "é"].map(str::to_owned);
    for id in told.chain(strange) {
        let statement = format!(
            "INSERT INTO redeliver_inbox (consumer, message_id, received_at) VALUES ('c', '{id}', {past})"
        );
        subject.execute(&statement).await?;
    }
    subject
        .execute(&format!("UPDATE redeliver_deduplication SET created_at = {past}"))
        .await?;
    Ok(ids)
}

async fn retain(subject: &Subject) -> Outcome {
    let retention = Retention {
        inbox: Some(limits::DEDUPLICATION_RETENTION),
        ..Retention::default()
    };
    subject.desk.retain(&retention).await?;
    Ok(())
}

async fn texts(subject: &Subject, statement: &str) -> Outcome<Vec<String>> {
    let rows = subject.harness.rows(statement).await?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

pub(super) async fn s480_a_key_is_kept_while_its_message_can_be_sent(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let [_, dead, ..] = old_ids(&subject).await?;
    retain(&subject).await?;
    let keys = "SELECT deduplication_key FROM redeliver_deduplication ORDER BY deduplication_key";
    same!(
        texts(&subject, keys).await?,
        ["dead", "live"],
        "keys that are kept"
    );
    let again = subject.desk.enqueue(&[message("dead")]).await?;
    let found: Vec<_> = again.iter().map(|again| (again.is_new(), again.id())).collect();
    same!(
        found,
        [(false, Some(dead))],
        "what an insert with a known key meets"
    );

    subject.discard(&only(dead)).await?;
    retain(&subject).await?;
    same!(texts(&subject, keys).await?, ["live"], "keys after a discard");
    Ok(())
}

pub(super) async fn s481_an_id_in_the_inbox_is_kept_while_its_message_can_be_sent(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let [live, dead, ..] = old_ids(&subject).await?;
    retain(&subject).await?;
    let ids = "SELECT message_id FROM redeliver_inbox ORDER BY message_id";
    let mut kept = [live.to_string(), dead.to_string()];
    kept.sort();
    same!(texts(&subject, ids).await?, kept, "ids that are kept");

    subject.discard(&only(dead)).await?;
    retain(&subject).await?;
    same!(
        texts(&subject, ids).await?,
        [live.to_string()],
        "ids after a discard"
    );
    Ok(())
}
