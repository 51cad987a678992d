use std::time::Duration;

use redeliver_outbox::{Inbox, NewMessage, Seen, enqueue::Dialect};
use tokio::{sync::oneshot, task::JoinSet};

use crate::{
    act::{Act, End},
    clients::Client,
    database::{Database, Kind},
};

async fn once<C: Client>(database: &Database, inbox: &Inbox, id: &str, end: End) -> Seen {
    let act = Act::Once(inbox.clone(), id.to_owned(), NewMessage::to("effect"));
    C::on(database, vec![act], end).await.remove(0).seen()
}

pub(crate) async fn an_effect_is_had_once_however_many_race<C: Client>() {
    let database = Database::new(C::KIND).await;
    let inbox = Inbox::new("invoicing ü");
    for round in 0..5 {
        let racers: JoinSet<Seen> = (0..6)
            .map(|_| {
                let (url, inbox) = (database.url.clone(), inbox.clone());
                async move {
                    let act = Act::Once(inbox, format!("message-{round}"), NewMessage::to("effect"));
                    C::transact(url, redeliver_outbox::Outbox::default(), vec![act], End::Commit)
                        .await
                        .remove(0)
                        .seen()
                }
            })
            .collect();
        let seen = racers.join_all().await;
        let firsts = seen.iter().filter(|&&seen| seen == Seen::First).count();
        assert_eq!(firsts, 1, "{seen:?}");
    }
    assert_eq!(database.count("redeliver_outbox").await, 5);
    // Another consumer has its own memory, and what was rolled back was not seen.
    let other = Inbox::new("shipping");
    assert_eq!(
        once::<C>(&database, &other, "message-0", End::RollBack).await,
        Seen::First
    );
    assert_eq!(
        once::<C>(&database, &other, "message-0", End::Commit).await,
        Seen::First
    );
    assert_eq!(
        once::<C>(&database, &other, "message-0", End::Commit).await,
        Seen::Again
    );
    database.drop().await;
}

pub(crate) async fn the_second_waits_for_the_first<C: Client>() {
    let database = Database::new(C::KIND).await;
    for (end, expected) in [(End::RollBack, Seen::First), (End::Commit, Seen::Again)] {
        let id = format!("{end:?}");
        let inbox = Inbox::new("invoicing");
        let act = || Act::Once(inbox.clone(), id.clone(), NewMessage::to("effect"));
        let (arrived, has_arrived) = oneshot::channel();
        let (go_on, told) = oneshot::channel();
        let acts = vec![act(), Act::Pause(arrived, told)];
        let outbox = redeliver_outbox::Outbox::default();
        let first = tokio::spawn(C::transact(database.url.clone(), outbox.clone(), acts, end));
        has_arrived.await.unwrap();
        let second = tokio::spawn(C::transact(
            database.url.clone(),
            outbox,
            vec![act()],
            End::Commit,
        ));
        if C::KIND != Kind::Sqlite {
            while database.waiting().await == 0 {
                assert!(!second.is_finished(), "the second did not wait");
            }
        }
        go_on.send(()).unwrap();
        assert_eq!(first.await.unwrap().remove(0).seen(), Seen::First);
        assert_eq!(second.await.unwrap().remove(0).seen(), expected, "{end:?}");
    }
    assert_eq!(database.count("redeliver_outbox").await, 2);
    database.drop().await;
}

/// A consumer whose transaction began earlier, and has read, learns that another one committed the message since.
pub(crate) async fn a_message_seen_meanwhile_is_known<C: Client>() {
    let database = Database::new(C::KIND).await;
    let inbox = Inbox::new("invoicing");
    let (arrived, has_arrived) = oneshot::channel();
    let (go_on, told) = oneshot::channel();
    let act = Act::Once(inbox.clone(), "m".to_owned(), NewMessage::to("effect"));
    let mut acts = vec![Act::Pause(arrived, told), act];
    if C::KIND != Kind::Sqlite {
        // Two, because then MySQL's numbers are read back, and the transaction has its snapshot.
        acts.insert(0, Act::EnqueueAll(vec![NewMessage::to("d"); 2]));
    }
    let outbox = redeliver_outbox::Outbox::default();
    let late = tokio::spawn(C::transact(database.url.clone(), outbox, acts, End::Commit));
    has_arrived.await.unwrap();
    assert_eq!(once::<C>(&database, &inbox, "m", End::Commit).await, Seen::First);
    go_on.send(()).unwrap();
    assert_eq!(late.await.unwrap().pop().unwrap().seen(), Seen::Again);
    database.drop().await;
}

pub(crate) async fn what_is_old_is_forgotten_in_steps<C: Client>() {
    let database = Database::new(C::KIND).await;
    let inbox = Inbox::new("invoicing");
    for index in 0..5 {
        assert_eq!(
            once::<C>(&database, &inbox, &format!("old-{index}"), End::Commit).await,
            Seen::First
        );
    }
    let two_days_ago = match C::KIND {
        Kind::Sqlite => "UPDATE redeliver_inbox SET received_at = received_at - 172800000",
        Kind::Postgres => "UPDATE redeliver_inbox SET received_at = received_at - interval '2 days'",
        Kind::Mariadb | Kind::Mysql => {
            "UPDATE redeliver_inbox SET received_at = received_at - INTERVAL 2 DAY"
        }
    };
    database.run(two_days_ago).await;
    assert_eq!(
        once::<C>(&database, &inbox, "young", End::Commit).await,
        Seen::First
    );
    let other = Inbox::new("shipping");
    assert_eq!(
        once::<C>(&database, &other, "theirs", End::Commit).await,
        Seen::First
    );
    let day = Duration::from_secs(86_400);
    for expected in [3, 2, 0] {
        let said = C::on(&database, vec![Act::Forget(inbox.clone(), day, 3)], End::Commit).await;
        assert_eq!(said.into_iter().next().unwrap().forgotten(), expected);
    }
    assert_eq!(database.count("redeliver_inbox").await, 2);
    assert_eq!(
        once::<C>(&database, &inbox, "young", End::Commit).await,
        Seen::Again
    );
    let refused = C::on(&database, vec![Act::Forget(Inbox::new(""), day, 3)], End::Commit).await;
    assert!(format!("{refused:?}").contains("consumer's name"), "{refused:?}");
    database.drop().await;
}

pub(crate) async fn an_inbox_can_stand_alone<C: Client>() {
    let database = Database::new(C::KIND).await;
    let (dialect, drop) = match C::KIND {
        Kind::Sqlite => (Dialect::Sqlite, "DROP TABLE redeliver_inbox"),
        Kind::Postgres => (Dialect::Postgres, "DROP TABLE redeliver_inbox"),
        Kind::Mariadb | Kind::Mysql => (Dialect::Mysql, "DROP TABLE redeliver_inbox"),
    };
    database.run(drop).await;
    let inbox = Inbox::new("alone");
    for statement in inbox.create_table_sql(dialect) {
        database.run(&statement).await;
    }
    assert_eq!(once::<C>(&database, &inbox, "m", End::Commit).await, Seen::First);
    assert_eq!(once::<C>(&database, &inbox, "m", End::Commit).await, Seen::Again);
    database.drop().await;
}
