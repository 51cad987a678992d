use redeliver_outbox::{Enqueued, NewMessage, Outbox};
use tokio::sync::oneshot;

use crate::{
    act::{Act, End},
    clients::Client,
    database::{Database, Kind},
};

fn keyed() -> NewMessage {
    NewMessage::to("d").deduplication_key("k")
}

/// A writer whose transaction began earlier, and has looked at the tables, learns what was committed since.
pub(crate) async fn a_key_taken_meanwhile_is_known<C: Client>() {
    let database = Database::new(C::KIND).await;
    let (arrived, has_arrived) = oneshot::channel();
    let (go_on, told) = oneshot::channel();
    let mut acts = vec![Act::Pause(arrived, told), Act::Enqueue(keyed())];
    if C::KIND != Kind::Sqlite {
        // Two, because then MySQL's numbers are read back, and the transaction has its snapshot.
        acts.insert(0, Act::EnqueueAll(vec![NewMessage::to("d"); 2]));
    }
    let late = tokio::spawn(C::transact(
        database.url.clone(),
        Outbox::default(),
        acts,
        End::Commit,
    ));
    has_arrived.await.unwrap();
    let first = C::on(&database, vec![Act::Enqueue(keyed())], End::Commit).await;
    let first = first.into_iter().next().unwrap().one();
    assert!(first.is_new());
    go_on.send(()).unwrap();
    let second = late.await.unwrap().pop().unwrap().one();
    assert_eq!(second, Enqueued::Duplicate(first.id()));
    database.drop().await;
}

/// A writer whose key another one holds waits for the other's transaction to end.
pub(crate) async fn the_end_of_the_first_decides_about_the_second<C: Client>() {
    for end in [End::Commit, End::RollBack] {
        let database = Database::new(C::KIND).await;
        let (arrived, has_arrived) = oneshot::channel();
        let (go_on, told) = oneshot::channel();
        let acts = vec![Act::Enqueue(keyed()), Act::Pause(arrived, told)];
        let first = tokio::spawn(C::transact(database.url.clone(), Outbox::default(), acts, end));
        has_arrived.await.unwrap();
        let acts = vec![Act::Enqueue(keyed())];
        let second = tokio::spawn(C::transact(
            database.url.clone(),
            Outbox::default(),
            acts,
            End::Commit,
        ));
        if C::KIND != Kind::Sqlite {
            while database.waiting().await == 0 {
                assert!(!second.is_finished(), "the second did not wait");
            }
        }
        go_on.send(()).unwrap();
        let first = first.await.unwrap().remove(0).one();
        let second = second.await.unwrap().remove(0).one();
        match end {
            End::Commit => assert_eq!(second, Enqueued::Duplicate(first.id())),
            End::RollBack => assert!(second.is_new()),
        }
        assert_eq!(database.count("redeliver_outbox").await, 1);
        database.drop().await;
    }
}
