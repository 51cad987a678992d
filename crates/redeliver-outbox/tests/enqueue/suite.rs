use std::{collections::HashSet, time::Duration};

use redeliver_outbox::{
    EnqueueError, Enqueued, MessageId, NewMessage, Payload, Timestamp, limits, store::Names,
};

use crate::{
    act::{Act, End},
    clients::*,
    database::{Database, Stored},
};

/// Every test, for every client.
macro_rules! suite {
    ($($module:ident: $client:ty;)*) => {$(
        mod $module {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn what_is_committed_is_there_to_the_byte() {
                super::what_is_committed_is_there_to_the_byte::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn what_is_rolled_back_never_was() {
                super::what_is_rolled_back_never_was::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_batch_is_in_order_and_all_or_nothing() {
                super::a_batch_is_in_order_and_all_or_nothing::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_key_is_inserted_once() {
                super::a_key_is_inserted_once::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_key_that_was_rolled_back_is_free() {
                super::a_key_that_was_rolled_back_is_free::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_batch_knows_its_duplicates() {
                super::a_batch_knows_its_duplicates::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn times_are_the_databases_own() {
                super::times_are_the_databases_own::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn what_is_invalid_is_refused_before_the_database_is_asked() {
                super::what_is_invalid_is_refused_before_the_database_is_asked::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn missing_tables_are_named() {
                super::missing_tables_are_named::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn tables_may_have_other_names() {
                super::tables_may_have_other_names::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_key_taken_meanwhile_is_known() {
                crate::races::a_key_taken_meanwhile_is_known::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn the_end_of_the_first_decides_about_the_second() {
                crate::races::the_end_of_the_first_decides_about_the_second::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn an_effect_is_had_once_however_many_race() {
                crate::inbox::an_effect_is_had_once_however_many_race::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn the_second_waits_for_the_first() {
                crate::inbox::the_second_waits_for_the_first::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn a_message_seen_meanwhile_is_known() {
                crate::inbox::a_message_seen_meanwhile_is_known::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn what_is_old_is_forgotten_in_steps() {
                crate::inbox::what_is_old_is_forgotten_in_steps::<$client>().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn an_inbox_can_stand_alone() {
                crate::inbox::an_inbox_can_stand_alone::<$client>().await;
            }
        }
    )*};
}

suite! {
    rusqlite: Rusqlite;
    tokio_postgres: TokioPostgres;
    mysql_async: MysqlAsync;
    mysql_async_mariadb: OnMariadb<MysqlAsync>;
    sqlx_sqlite: SqlxSqlite;
    sqlx_postgres: SqlxPostgres;
    sqlx_mysql: SqlxMysql;
    sqlx_mariadb: OnMariadb<SqlxMysql>;
    diesel_sqlite: DieselSqlite;
    diesel_postgres: DieselPostgres;
    diesel_mysql: DieselMysql;
    diesel_mariadb: OnMariadb<DieselMysql>;
    diesel_async_sqlite: DieselAsyncSqlite;
    diesel_async_postgres: DieselAsyncPostgres;
    diesel_async_mysql: DieselAsyncMysql;
    diesel_async_mariadb: OnMariadb<DieselAsyncMysql>;
}

async fn one<C: Client>(database: &Database, message: &NewMessage, end: End) -> Enqueued {
    let said = C::on(database, vec![Act::Enqueue(message.clone())], end).await;
    said.into_iter().next().unwrap().one()
}

async fn all<C: Client>(database: &Database, messages: &[NewMessage], end: End) -> Vec<Enqueued> {
    let said = C::on(database, vec![Act::EnqueueAll(messages.to_vec())], end).await;
    said.into_iter().next().unwrap().all()
}

/// Payloads that a careless path would change.
fn delicate() -> Vec<Payload> {
    let mut every_byte: Vec<u8> = (0..=255).collect();
    every_byte.reverse();
    vec![
        Payload::from(""),
        Payload::Binary(Vec::new().into()),
        Payload::from(r#"{"quote":"\"","single":"it's","backslash":"\\ \\n","percent":"%s ? $1 :name"}"#),
        Payload::from("line\r\nfeed\ttab 'x' \"y\" `z` \\ \u{1b}\u{7f} -- /* */ ;"),
        Payload::from("emoji 🦀🏳️‍🌈 and e\u{301} and 𝄞"),
        Payload::from("ends in a blank "),
        Payload::from("NUL\0inside"),
        Payload::Binary(every_byte.into()),
        Payload::Binary(vec![0xff, 0xfe, 0x00, 0x80].into()),
        Payload::Binary(b"text that is meant as bytes".to_vec().into()),
        Payload::from("x".repeat(limits::PAYLOAD_LIMIT)),
        Payload::Binary(vec![0xa5; limits::PAYLOAD_LIMIT].into()),
    ]
}

async fn what_is_committed_is_there_to_the_byte<C: Client>() {
    let database = Database::new(C::KIND).await;
    let mut expected = Vec::new();
    for payload in delicate() {
        let message = NewMessage::to("billing/ü 'x'").payload(payload.clone());
        let id = one::<C>(&database, &message, End::Commit).await.id().unwrap();
        let (text, binary) = payload.columns();
        expected.push(Stored {
            number: id.number(),
            salt: id.salt(),
            destination: "billing/ü 'x'".to_owned(),
            payload: text.map(ToOwned::to_owned),
            payload_binary: binary.map(<[u8]>::to_vec),
            ..Stored::default()
        });
    }
    let event = NewMessage::on("orders.paid").payload("{}");
    let id = one::<C>(&database, &event, End::Commit).await.id().unwrap();
    expected.push(Stored {
        number: id.number(),
        salt: id.salt(),
        topic: Some("orders.paid".to_owned()),
        payload: Some("{}".to_owned()),
        ..Stored::default()
    });
    let message = NewMessage::to("d")
        .topic("orders.paid")
        .key("order \"7\" \\ 🦀")
        .payload("{}")
        .content_type("application/vnd.x+json; charset=utf-8")
        .header("x-tenant", r#"a"b\c'd"#)
        .header("x-empty", "")
        .traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        .not_before(Timestamp::from_millis(1_999_999_999_123))
        .expires_at(Timestamp::from_millis(limits::LATEST_MILLIS - 999));
    let id = one::<C>(&database, &message, End::Commit).await.id().unwrap();
    expected.push(Stored {
        number: id.number(),
        salt: id.salt(),
        destination: "d".to_owned(),
        topic: Some("orders.paid".to_owned()),
        lane: Some("order \"7\" \\ 🦀".to_owned()),
        payload: Some("{}".to_owned()),
        payload_binary: None,
        content_type: Some("application/vnd.x+json; charset=utf-8".to_owned()),
        headers: message.headers_json(),
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned()),
        not_before: Some(1_999_999_999_123),
        expires_at: Some(limits::LATEST_MILLIS - 999),
    });
    let rows = database.rows().await;
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(&expected) {
        assert!(row == expected, "{:?} is not {:?}", brief(row), brief(expected));
    }
    database.drop().await;
}

/// Without a mebibyte of payload.
fn brief(row: &Stored) -> String {
    format!("{row:?}").chars().take(600).collect()
}

async fn what_is_rolled_back_never_was<C: Client>() {
    let database = Database::new(C::KIND).await;
    let message = NewMessage::to("d").payload("x").deduplication_key("k");
    assert!(one::<C>(&database, &message, End::RollBack).await.is_new());
    let many = vec![NewMessage::to("d"); 3];
    assert_eq!(all::<C>(&database, &many, End::RollBack).await.len(), 3);
    assert_eq!(database.count("redeliver_outbox").await, 0);
    assert_eq!(database.count("redeliver_deduplication").await, 0);
    database.drop().await;
}

async fn a_batch_is_in_order_and_all_or_nothing<C: Client>() {
    let database = Database::new(C::KIND).await;
    let messages: Vec<_> = (0..1500)
        .map(|index| {
            // A few large ones, so that it is not the count alone that ends a statement.
            let padding = if index % 250 == 0 { 900_000 } else { 10 };
            NewMessage::to("d")
                .key(format!("k{}", index % 7))
                .payload(format!("{index}:{}", "p".repeat(padding)))
        })
        .collect();
    let enqueued = all::<C>(&database, &messages, End::Commit).await;
    let ids: Vec<MessageId> = enqueued.iter().map(|enqueued| enqueued.id().unwrap()).collect();
    assert!(enqueued.iter().all(|enqueued| enqueued.is_new()));
    assert!(ids.is_sorted() && ids.iter().collect::<HashSet<_>>().len() == 1500);
    let rows = database.rows().await;
    assert_eq!(rows.len(), 1500);
    for ((row, message), id) in rows.iter().zip(&messages).zip(&ids) {
        assert_eq!(MessageId::new(row.number, row.salt), *id);
        let payload = row.payload.as_deref().unwrap();
        assert!(
            *message
                == NewMessage::to("d")
                    .key(row.lane.as_deref().unwrap())
                    .payload(payload),
            "{id}"
        );
    }
    assert_eq!(all::<C>(&database, &[], End::Commit).await, []);
    database.drop().await;
}

async fn a_key_is_inserted_once<C: Client>() {
    let database = Database::new(C::KIND).await;
    let message = |payload: &str| {
        NewMessage::to("d")
            .payload(payload)
            .deduplication_key("order-7 🦀 'x'")
    };
    let first = one::<C>(&database, &message("first"), End::Commit).await;
    let second = one::<C>(&database, &message("second"), End::Commit).await;
    assert!(first.is_new());
    assert_eq!(second, Enqueued::Duplicate(first.id()));
    let said = C::on(
        &database,
        vec![
            Act::Enqueue(message("third")),
            Act::Enqueue(NewMessage::to("d").payload("other")),
        ],
        End::Commit,
    )
    .await;
    let said: Vec<_> = said.into_iter().map(|said| said.one()).collect();
    assert_eq!(said[0], Enqueued::Duplicate(first.id()));
    assert!(said[1].is_new());
    let payloads: Vec<_> = database
        .rows()
        .await
        .into_iter()
        .map(|row| row.payload.unwrap())
        .collect();
    assert_eq!(payloads, ["first", "other"]);
    // Plain SQL need not tell the number.
    database
        .run("INSERT INTO redeliver_deduplication (deduplication_key, number, salt) VALUES ('plain', 0, 1)")
        .await;
    let plain = one::<C>(
        &database,
        &NewMessage::to("d").deduplication_key("plain"),
        End::Commit,
    )
    .await;
    assert_eq!(plain, Enqueued::Duplicate(None));
    database.drop().await;
}

async fn a_key_that_was_rolled_back_is_free<C: Client>() {
    let database = Database::new(C::KIND).await;
    let message = NewMessage::to("d").deduplication_key("k");
    assert!(one::<C>(&database, &message, End::RollBack).await.is_new());
    assert!(one::<C>(&database, &message, End::Commit).await.is_new());
    assert_eq!(database.count("redeliver_outbox").await, 1);
    // Both in one transaction: the second knows the first.
    let other = NewMessage::to("d").deduplication_key("o");
    let said = C::on(
        &database,
        vec![Act::Enqueue(other.clone()), Act::Enqueue(other)],
        End::Commit,
    )
    .await;
    let said: Vec<_> = said.into_iter().map(|said| said.one()).collect();
    assert_eq!(said[1], Enqueued::Duplicate(said[0].id()));
    database.drop().await;
}

async fn a_batch_knows_its_duplicates<C: Client>() {
    let database = Database::new(C::KIND).await;
    let keyed = |index: usize| {
        NewMessage::to("d")
            .payload(format!("{index}"))
            .deduplication_key(format!("k{index}"))
    };
    let early: Vec<_> = (0..600).step_by(3).map(keyed).collect();
    let early = all::<C>(&database, &early, End::Commit).await;
    assert!(early.iter().all(|enqueued| enqueued.is_new()));
    let mut batch: Vec<_> = (0..600).map(keyed).collect();
    batch.push(keyed(1));
    batch.push(NewMessage::to("d").payload("no key"));
    let enqueued = all::<C>(&database, &batch, End::Commit).await;
    for (index, enqueued) in enqueued.iter().enumerate().take(600) {
        if index % 3 == 0 {
            assert_eq!(*enqueued, Enqueued::Duplicate(early[index / 3].id()), "{index}");
        } else {
            assert!(enqueued.is_new(), "{index}");
        }
    }
    assert_eq!(enqueued[600], Enqueued::Duplicate(enqueued[1].id()));
    assert!(enqueued[601].is_new());
    assert_eq!(database.count("redeliver_outbox").await, 601);
    let untied = "SELECT count(*) FROM redeliver_deduplication WHERE number = 0";
    assert_eq!(database.integer(untied).await, 0);
    database.drop().await;
}

async fn times_are_the_databases_own<C: Client>() {
    let database = Database::new(C::KIND).await;
    let message = NewMessage::to("d")
        .delay(Duration::from_secs(3600))
        .expires_after(Duration::from_secs(86_400));
    let before = database.now().await;
    let _enqueued = one::<C>(&database, &message, End::Commit).await;
    let after = database.now().await;
    let row = database.rows().await.remove(0);
    let hour = (before + 3_600_000)..=(after + 3_600_000);
    let day = (before + 86_400_000)..=(after + 86_400_000);
    assert!(hour.contains(&row.not_before.unwrap()), "{row:?}, {hour:?}");
    assert!(day.contains(&row.expires_at.unwrap()), "{row:?}, {day:?}");
    database.drop().await;
}

async fn what_is_invalid_is_refused_before_the_database_is_asked<C: Client>() {
    let database = Database::new(C::KIND).await;
    let valid = NewMessage::to("d").payload("a secret");
    let invalid = [
        NewMessage::to(""),
        NewMessage::to("d").key("line\nbreak"),
        NewMessage::to("d").payload("x".repeat(limits::PAYLOAD_LIMIT + 1)),
        NewMessage::to("d").header("x", "a\r\nb: c"),
        NewMessage::to("d").content_type("x".repeat(201)),
        NewMessage::to("d").delay(Duration::MAX),
        NewMessage::to("d").not_before(Timestamp::from_millis(i64::MAX)),
        NewMessage::to("d").deduplication_key(""),
    ];
    for invalid in invalid {
        let acts = vec![
            Act::Enqueue(invalid.clone()),
            Act::EnqueueAll(vec![valid.clone(), invalid]),
            // The transaction is not hurt by it.
            Act::Enqueue(valid.clone()),
        ];
        let mut said = C::on(&database, acts, End::Commit).await.into_iter();
        for _ in 0..2 {
            let error = said.next().unwrap().refusal();
            assert!(matches!(error, EnqueueError::Invalid(_)), "{error}");
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
        assert!(said.next().unwrap().one().is_new());
    }
    assert_eq!(database.count("redeliver_outbox").await, 8);
    database.drop().await;
}

async fn missing_tables_are_named<C: Client>() {
    let mut database = Database::new(C::KIND).await;
    database.names = Names::new(None, "other_").unwrap();
    let said = C::on(
        &database,
        vec![Act::Enqueue(NewMessage::to("d").payload("a secret"))],
        End::RollBack,
    )
    .await;
    let error = said.into_iter().next().unwrap().refusal();
    assert!(
        error.to_string().contains("redeliver migrate"),
        "{error}: {error:?}"
    );
    assert!(!format!("{error} {error:?}").contains("secret"));
    database.drop().await;
}

async fn tables_may_have_other_names<C: Client>() {
    let schema = matches!(C::KIND, crate::database::Kind::Postgres).then_some("app");
    let database = Database::named(C::KIND, Names::new(schema, "ob_").unwrap()).await;
    let messages = [NewMessage::to("d").deduplication_key("k"), NewMessage::to("d")];
    let _enqueued = all::<C>(&database, &messages, End::Commit).await;
    assert!(!one::<C>(&database, &messages[0], End::Commit).await.is_new());
    assert_eq!(database.count("redeliver_outbox").await, 2);
    database.drop().await;
}
