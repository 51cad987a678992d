//! The tables: made, made again, taken back, by one process or several.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{Subject, beat, delivered},
};
use crate::{
    MessageId,
    desk::{Filter, Layout},
    store::{Lease, Settlement, StoreError, StoreErrorKind, WorkerId},
};

const LAYOUT: Layout = Layout { shards: 4 };

pub(super) async fn s140_a_place_without_tables_says_so(factory: &dyn Factory) -> Outcome {
    let subject = Subject::without_tables(factory).await?;
    same!(subject.desk.version().await?, 0, "the version");
    let worker = WorkerId("w".to_owned());
    let errors = [
        subject.store.beat(&beat(&worker)).await.err(),
        subject.store.claim(&worker, 1, 1).await.err(),
        subject.store.settle(&worker, &[settlement()]).await.err(),
        subject.desk.status().await.err(),
        subject.desk.count(&Filter::default()).await.err(),
    ];
    for (index, error) in errors.into_iter().enumerate() {
        let kind = error.as_ref().map(StoreError::kind);
        same!(
            kind,
            Some(StoreErrorKind::NotMigrated),
            "the kind of error {index}, {error:?}"
        );
        let next = error
            .map(|error| error.next_step().to_owned())
            .unwrap_or_default();
        check!(!next.is_empty(), "error {index} says what to do");
    }
    Ok(())
}

fn settlement() -> Settlement {
    Settlement {
        lease: Lease { shard: 0, epoch: 1 },
        id: MessageId::new(1, 1),
        redrives: 0,
        verdict: delivered(1),
    }
}

pub(super) async fn s141_the_steps_are_taken_once(factory: &dyn Factory) -> Outcome {
    let subject = Subject::without_tables(factory).await?;
    let steps = subject.desk.migrations(LAYOUT);
    let versions: Vec<u32> = steps.iter().map(|step| step.version).collect();
    let count = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    same!(versions, (1..=count).collect::<Vec<_>>(), "the versions");
    for step in &steps {
        check!(
            !step.up.trim().is_empty() && !step.down.trim().is_empty() && !step.name.is_empty(),
            "step {} has a name and both ways",
            step.version
        );
        check!(
            !step.up.contains("{shard"),
            "nothing is left to fill in in step {}",
            step.version
        );
    }
    same!(
        subject.desk.migrate(LAYOUT, None).await?,
        versions,
        "the steps taken"
    );
    same!(subject.desk.version().await?, count, "the version");
    none!(
        subject.desk.migrate(LAYOUT, None).await?,
        "the steps taken the second time"
    );
    same!(subject.desk.status().await?.shards, 4, "shards");
    Ok(())
}

pub(super) async fn s142_down_and_up_again(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    subject.enqueue_some(3).await?;
    let newest = subject.desk.version().await?;
    for version in (0..newest).rev() {
        same!(
            subject.desk.migrate(LAYOUT, Some(version)).await?,
            [version + 1],
            "the steps taken back"
        );
        same!(subject.desk.version().await?, version, "the version");
    }
    check!(
        subject.desk.status().await.is_err(),
        "there are no tables any more"
    );
    let up: Vec<u32> = (1..=newest).collect();
    same!(
        subject.desk.migrate(LAYOUT, None).await?,
        up,
        "the steps taken again"
    );
    same!(
        subject.desk.count(&Filter::default()).await?,
        0,
        "messages in new tables"
    );
    subject.enqueue_some(1).await?;
    same!(
        subject.worker("w").await?.read_fresh().await?.len(),
        1,
        "messages read"
    );
    Ok(())
}

pub(super) async fn s143_migrations_at_the_same_time(factory: &dyn Factory) -> Outcome {
    let subject = Subject::without_tables(factory).await?;
    let migrations = (0..4).map(|_| subject.desk.migrate(LAYOUT, None));
    let mut taken = Vec::new();
    for steps in futures_util::future::join_all(migrations).await {
        taken.extend(steps?);
    }
    taken.sort_unstable();
    let all: Vec<u32> = subject
        .desk
        .migrations(LAYOUT)
        .iter()
        .map(|step| step.version)
        .collect();
    same!(taken, all, "the steps taken by four at once");
    subject.enqueue_some(1).await?;
    Ok(())
}

pub(super) async fn s144_the_layout_is_settled_when_the_tables_are_made(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    // Whether it is refused or does nothing: the rows that are there are in the shards that are there.
    let steps = subject
        .desk
        .migrate(Layout { shards: 16 }, None)
        .await
        .unwrap_or_default();
    none!(steps, "the steps taken for another layout");
    same!(subject.desk.status().await?.shards, 4, "shards");
    subject.enqueue_some(50).await?;
    same!(
        subject.worker("w").await?.read_fresh().await?.len(),
        50,
        "messages read"
    );
    Ok(())
}

pub(super) async fn s145_a_version_that_does_not_exist_is_refused(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let newest = subject.desk.version().await?;
    let result = subject.desk.migrate(LAYOUT, Some(newest + 1)).await;
    let kind = result.as_ref().err().map(StoreError::kind);
    same!(
        kind,
        Some(StoreErrorKind::BadInput),
        "the kind of error of {result:?}"
    );
    same!(subject.desk.version().await?, newest, "the version");
    Ok(())
}
