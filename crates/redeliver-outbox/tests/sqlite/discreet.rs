//! What the desk for people shows of what is marked secret, and what it does with what they change.

use std::{sync::Arc, time::Duration};

use redeliver_outbox::{
    DeadReason, MessageId, NewMessage, Payload, Timestamp,
    desk::{
        Act, DeadLetter, Desk, Detail, Discreet, Edit, Filter, JobDesk, Look as _, MessageRef, Page, Replay,
        Retention,
    },
    destination::{Log, Route, Routes},
    secrecy::Secrecy,
    store::{Result, StoreErrorKind},
};

use crate::bench::Bench;

const SECRET: &str = "4111111111111111";
const PAYLOAD: &str = r#"{"card":{"number":"4111111111111111","kind":"visa"},"order":7}"#;

fn act() -> Act {
    Act {
        who: "ann".to_owned(),
        why: "ticket 7".to_owned(),
    }
}

fn hiding(secrecy: Secrecy) -> Route {
    Route {
        secrecy,
        ..Route::to(Log)
    }
}

fn fields(paths: &[&str]) -> Secrecy {
    Secrecy::Fields(paths.iter().map(|path| path.parse().unwrap()).collect())
}

struct Scene {
    bench: Bench,
    desk: Discreet,
    billing: MessageId,
    vault: MessageId,
    open: MessageId,
}

impl Scene {
    /// A dead letter to each: one whose card is hidden, one of which all is, and one that hides nothing.
    async fn set() -> Self {
        let bench = Bench::new().await;
        let routes = Routes::new()
            .with("billing", hiding(fields(&["card.number"])))
            .with("cards", hiding(fields(&["card.*"])))
            .with("vault", hiding(Secrecy::Everything))
            .with("open", hiding(Secrecy::Nothing))
            .with_topic("orders.*".parse().unwrap(), ["billing", "open"]);
        let letter = |to: &str| DeadLetter {
            message: NewMessage::to(to)
                .payload(PAYLOAD)
                .header("authorization", format!("Bearer {SECRET}"))
                .header("x-source", "shop"),
            reason: DeadReason::Permanent,
            error: "404 not found".to_owned(),
            attempts: 1,
        };
        let letters = ["billing", "vault", "open"].map(letter);
        let ids = bench.store.import(&letters, &act()).await.unwrap();
        let desk = Discreet::new(Arc::new(bench.store.clone()), routes);
        let [billing, vault, open] = ids[..] else {
            panic!("{ids:?}");
        };
        Self {
            bench,
            desk,
            billing,
            vault,
            open,
        }
    }

    async fn seen(&self, id: MessageId) -> Detail {
        self.desk.find(MessageRef::Id(id)).await.unwrap().unwrap()
    }

    async fn stored(&self, id: MessageId) -> String {
        let detail = self.bench.store.find(MessageRef::Id(id)).await.unwrap().unwrap();
        detail.record.payload.unwrap().as_text().unwrap().to_owned()
    }

    async fn change(&self, id: MessageId, payload: &str) -> Result<()> {
        let edit = Edit {
            payload: Some(Payload::from(payload)),
            ..Edit::default()
        };
        self.desk.edit(MessageRef::Id(id), &edit, &act()).await
    }
}

fn text(payload: Option<&Payload>) -> &str {
    payload.and_then(Payload::as_text).unwrap()
}

#[tokio::test]
async fn what_is_marked_is_shown_to_nobody() {
    let scene = Scene::set().await;
    let billing = scene.seen(scene.billing).await;
    assert_eq!(
        text(billing.record.payload.as_ref()),
        r#"{"card":{"number":"…","kind":"visa"},"order":7}"#
    );
    let headers = r#"{"authorization":"…","x-source":"shop"}"#;
    assert_eq!(billing.record.headers.as_deref(), Some(headers));
    let vault = scene.seen(scene.vault).await.record;
    assert!(text(vault.payload.as_ref()).starts_with("… (62 bytes, SHA-256 "));
    assert_eq!(
        vault.hidden.map(|hidden| (hidden.bytes, hidden.whole)),
        Some((62, true))
    );
    let open = scene.seen(scene.open).await.record;
    assert_eq!((text(open.payload.as_ref()), open.hidden), (PAYLOAD, None));
    assert!(open.is_hidden(), "its header is");
    let page = Page {
        until: None,
        after: None,
        limit: 10,
        newest_first: false,
    };
    let all = Filter::default();
    let listed = scene.desk.list(&all, page, true).await.unwrap();
    let searched = scene.desk.search(&all, page, Duration::MAX).await.unwrap();
    let preview = scene.desk.preview_job(&all).await.unwrap();
    for record in listed.iter().chain(&searched.records).chain(&preview.sample) {
        assert_eq!(record.headers.as_deref(), Some(headers));
        let payload = record
            .payload
            .as_ref()
            .and_then(Payload::as_text)
            .unwrap_or_default();
        assert_eq!(
            payload.contains(SECRET),
            record.id == scene.open && record.payload.is_some()
        );
    }
}

#[tokio::test]
async fn what_is_hidden_stays_unless_it_is_given_anew() {
    let scene = Scene::set().await;
    scene.change(scene.billing, r#"{"order":8}"#).await.unwrap();
    assert_eq!(scene.stored(scene.billing).await, PAYLOAD.replace('7', "8"));
    scene
        .change(scene.billing, r#"{"card":{"number":"5500"}}"#)
        .await
        .unwrap();
    assert!(scene.stored(scene.billing).await.contains("5500"));
    scene.change(scene.vault, "all new").await.unwrap();
    assert_eq!(scene.stored(scene.vault).await, "all new");
    for id in [scene.billing, scene.vault] {
        let shown = scene.seen(id).await.record.payload.unwrap();
        let refused = scene.change(id, text(Some(&shown))).await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::BadInput);
        assert!(refused.to_string().contains("marked secret"), "{refused}");
    }
    let marked = Edit {
        headers: Some(r#"{"authorization":"…"}"#.to_owned()),
        ..Edit::default()
    };
    let refused = scene
        .desk
        .edit(MessageRef::Id(scene.open), &marked, &act())
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("authorization"), "{refused}");
}

#[tokio::test]
async fn nothing_moves_to_where_it_would_be_seen() {
    let scene = Scene::set().await;
    for (id, to, moves) in [
        (scene.billing, "open", false),
        (scene.billing, "nowhere", false),
        (scene.vault, "cards", false),
        (scene.billing, "cards", true),
        (scene.open, "vault", true),
    ] {
        let edit = Edit {
            destination: Some(to.to_owned()),
            ..Edit::default()
        };
        let moved = scene.desk.edit(MessageRef::Id(id), &edit, &act()).await;
        assert_eq!(moved.is_ok(), moves, "{to}: {moved:?}");
    }
}

#[tokio::test]
async fn the_audit_keeps_the_payload_and_does_not_show_it() {
    let scene = Scene::set().await;
    for id in [scene.billing, scene.vault, scene.open] {
        scene.change(id, r#"{"order":8}"#).await.unwrap();
    }
    let kept = scene.bench.store.audit(10).await.unwrap();
    assert_eq!(kept.iter().filter(|act| act.detail.contains(SECRET)).count(), 3);
    let shown = scene.desk.audit(10).await.unwrap();
    let open: Vec<_> = shown.iter().filter(|act| act.detail.contains(SECRET)).collect();
    assert!(open.len() == 1 && open[0].message == Some(scene.open), "{open:?}");
    let billing = scene.seen(scene.billing).await;
    assert!(billing.audit.iter().all(|act| !act.detail.contains(SECRET)));
    assert!(text(billing.original_payload.as_ref()).contains("visa"));
    let many = vec![
        DeadLetter {
            message: NewMessage::to("billing").payload(PAYLOAD),
            reason: DeadReason::Permanent,
            error: String::new(),
            attempts: 1,
        };
        1_000
    ];
    for id in scene.desk.import(&many, &act()).await.unwrap() {
        scene.change(id, r#"{"order":8}"#).await.unwrap();
    }
    let shown = scene.desk.audit(5_000).await.unwrap();
    assert_eq!(shown.iter().filter(|act| act.detail.contains(SECRET)).count(), 1);
    // Once the message is forgotten, nobody knows any more where it went.
    scene
        .desk
        .discard(&Filter::default(), 2_000, &act())
        .await
        .unwrap();
    let retention = Retention {
        discarded: Some(Duration::ZERO),
        ..Retention::default()
    };
    scene.bench.pass(Duration::from_secs(1));
    assert!(scene.desk.retain(&retention).await.unwrap().rows >= 3);
    let shown = scene.desk.audit_page(None, 20).await.unwrap();
    assert!(shown.iter().all(|act| !act.detail.contains(SECRET)), "{shown:?}");
}

#[tokio::test]
async fn a_search_finds_nothing_out() {
    let scene = Scene::set().await;
    let guess = Filter {
        text: Some("4111".to_owned()),
        ..Filter::default()
    };
    assert_eq!(scene.bench.store.count(&guess).await.unwrap(), 3);
    assert_eq!(scene.desk.count(&guess).await.unwrap(), 1);
    assert_eq!(scene.desk.preview_job(&guess).await.unwrap().matched, 1);
    let event = NewMessage::on("orders.paid").payload(PAYLOAD);
    scene.desk.enqueue(&[event]).await.unwrap();
    assert_eq!(scene.desk.count(&guess).await.unwrap(), 1);
    assert_eq!(
        scene.desk.redrive(&guess, 10, &act()).await.unwrap(),
        [scene.open]
    );
}

/// Somebody took billing and the topics out of the configuration: that uncovers nothing.
#[tokio::test]
async fn what_is_not_named_any_more_is_hidden_where_anything_is() {
    let scene = Scene::set().await;
    let event = NewMessage::on("orders.paid").payload(PAYLOAD);
    let ids = scene.bench.store.enqueue(&[event]).await.unwrap();
    let event = ids[0].id().unwrap();
    let guess = Filter {
        text: Some("4111".to_owned()),
        ..Filter::default()
    };
    for (hides, is_seen) in [(Secrecy::Everything, false), (Secrecy::Nothing, true)] {
        let routes = Routes::new()
            .with("vault", hiding(hides))
            .with("open", hiding(Secrecy::Nothing));
        let desk = Discreet::new(Arc::new(scene.bench.store.clone()), routes);
        for id in [scene.billing, event] {
            let seen = desk.find(MessageRef::Id(id)).await.unwrap().unwrap().record;
            assert_eq!(text(seen.payload.as_ref()).contains(SECRET), is_seen, "{seen:?}");
            assert_eq!(text(seen.payload.as_ref()).contains("visa"), is_seen, "{seen:?}");
        }
        let found = desk.count(&guess).await.unwrap();
        assert_eq!(found, if is_seen { 4 } else { 1 });
        let edit = Edit {
            destination: Some("open".to_owned()),
            ..Edit::default()
        };
        if !is_seen {
            let moved = desk.edit(MessageRef::Id(scene.billing), &edit, &act()).await;
            let refused = moved.unwrap_err().to_string();
            assert!(refused.contains("name billing there again"), "{refused}");
        }
    }
}

#[tokio::test]
async fn nothing_is_replayed_to_where_it_would_be_seen() {
    let bench = Bench::new().await;
    let routes = Routes::new()
        .with("billing", hiding(fields(&["card.number"])))
        .with("cards", hiding(fields(&["card.*"])))
        .with("vault", hiding(Secrecy::Everything))
        .with("open", hiding(Secrecy::Nothing))
        .with("archive", hiding(Secrecy::Nothing))
        .with_topic("orders.*".parse().unwrap(), ["billing", "archive"])
        .with_topic("news.**".parse().unwrap(), ["open"]);
    let desk = Discreet::new(Arc::new(bench.store.clone()), routes);
    for (topic, to, goes) in [
        ("orders.*", "open", false),
        ("orders.paid", "open", false),
        ("orders.*", "nowhere", false),
        ("orders.paid", "cards", true),
        ("orders.paid", "vault", true),
        // The routes lead there themselves.
        ("orders.paid", "archive", true),
        ("news.sport", "archive", true),
        // Some of these topics may lead nowhere, and then nobody knows what is secret.
        ("**", "archive", false),
        ("invoices.*", "archive", false),
        ("**", "vault", true),
    ] {
        let replay = Replay {
            to: to.to_owned(),
            topic: topic.parse().unwrap(),
            since: Timestamp::from_millis(0),
            until: None,
        };
        let done = desk.replay(&replay, 0, Some(&act())).await;
        assert_eq!(done.is_ok(), goes, "{topic} to {to}: {done:?}");
        if let Err(refused) = done {
            assert!(refused.to_string().contains("would be shown at"), "{refused}");
        }
    }
}

#[tokio::test]
async fn what_is_revealed_is_on_record() {
    let scene = Scene::set().await;
    scene
        .desk
        .reveal(&[scene.billing, scene.vault], &act())
        .await
        .unwrap();
    let acts = scene.desk.audit(2).await.unwrap();
    let acts: Vec<_> = acts
        .iter()
        .map(|act| (act.action.as_str(), act.message, act.who.as_str()))
        .collect();
    assert_eq!(
        acts,
        [
            ("reveal", Some(scene.vault), "ann"),
            ("reveal", Some(scene.billing), "ann")
        ]
    );
}
