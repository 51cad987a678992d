use proptest::prelude::*;
use serde_json::json;

use super::*;

fn fields(paths: &[&str]) -> Secrecy {
    Secrecy::Fields(paths.iter().map(|path| path.parse().unwrap()).collect())
}

fn text(payload: &Payload) -> &str {
    payload.as_text().unwrap()
}

#[test]
fn fields_are_hidden_and_all_else_stays_as_it_was_written() {
    let secrecy = fields(&["card.number", "people.*.email", "token", "list.1"]);
    let payload = Payload::from(
        r#"{"z":1.10,"card": {"number":4111111111111111,"kind":"visa"},"people":[{"email":"a@b","n":1},{"email":["x",{"y":2}]},7],"token":{"a":"b"},"list":[1,2,3],"card":{"number":"twice"}}"#,
    );
    assert_eq!(
        text(&secrecy.hidden(&payload)),
        r#"{"z":1.10,"card":{"number":"…","kind":"visa"},"people":[{"email":"…","n":1},{"email":"…"},7],"token":"…","list":[1,"…",3],"card":{"number":"…"}}"#
    );
    assert_eq!(
        secrecy.values(&payload),
        ["4111111111111111", "a@b", "x", "2", "b", "2", "twice"]
    );
    assert_eq!(secrecy.hides(&payload).map(|hidden| hidden.whole), Some(false));
    let escaped = Payload::from(r#"{"\u0074oken":"hunter2"}"#);
    assert_eq!(text(&secrecy.hidden(&escaped)), r#"{"token":"…"}"#);
}

#[test]
fn what_is_no_json_is_hidden_whole_where_fields_are() {
    for payload in [
        Payload::from("hunter2"),
        Payload::from(r#"{"token":"hunter2""#),
        Payload::from_bytes(vec![0xff, b'h']),
    ] {
        for secrecy in [fields(&["token"]), Secrecy::Everything] {
            let shown = secrecy.hidden(&payload);
            let outline = format!("… ({} bytes, SHA-256 ", payload.len());
            assert!(text(&shown).starts_with(&outline), "{}", text(&shown));
            assert!(!text(&shown).contains("hunter2"));
            assert!(secrecy.hides(&payload).unwrap().whole);
        }
        assert_eq!(Secrecy::Nothing.hidden(&payload), payload);
    }
}

#[test]
fn no_payload_is_too_deep() {
    let deep = format!("{}\"hunter2\"{}", "[".repeat(100_000), "]".repeat(100_000));
    let payload = Payload::from(deep);
    assert_eq!(Secrecy::Everything.values(&payload).len(), 1);
    assert_eq!(fields(&["*.*.*"]).hidden(&payload), Payload::from(r#"[[["…"]]]"#));
}

#[test]
fn what_is_hidden_stays_unless_it_is_given_anew() {
    let secrecy = fields(&["card.number"]);
    let stored = Payload::from(r#"{"card":{"number":"4111","kind":"visa"},"n":1}"#);
    let changed = |change: &str| {
        let changed = secrecy.changed(&stored, &Payload::from(change));
        changed.map(|payload| text(&payload).to_owned())
    };
    assert_eq!(
        changed(r#"{"n":2}"#).unwrap(),
        r#"{"card":{"number":"4111","kind":"visa"},"n":2}"#
    );
    assert_eq!(
        changed(r#"{"card":{"number":"5","kind":null}}"#).unwrap(),
        r#"{"card":{"number":"5"},"n":1}"#
    );
    let marked = changed(text(&secrecy.hidden(&stored))).unwrap_err();
    assert_eq!(marked, InvalidChange::Marked("card.number".to_owned()));
    assert_eq!(changed("7").unwrap_err(), InvalidChange::NoPatch);
    assert_eq!(changed("{oops").unwrap_err(), InvalidChange::NoPatch);
    let (stored, new) = (Payload::from("hunter2"), Payload::from("hunter3"));
    for secrecy in [secrecy, Secrecy::Everything] {
        assert_eq!(secrecy.changed(&stored, &new), Ok(new.clone()));
        assert_eq!(
            secrecy.changed(&stored, &secrecy.hidden(&stored)),
            Err(InvalidChange::Outline)
        );
    }
}

#[test]
fn it_is_known_who_hides_more() {
    let (one, star) = (fields(&["people.0.email"]), fields(&["people.*"]));
    assert!(star.covers(&one) && !one.covers(&star));
    assert!(Secrecy::Everything.covers(&star) && !star.covers(&Secrecy::Everything));
    assert!(one.covers(&Secrecy::Nothing) && !Secrecy::Nothing.covers(&one));
    assert!(one.clone().with(&star).covers(&one) && one.clone().with(&star).covers(&star));
    assert_eq!(one.with(&Secrecy::Everything), Secrecy::Everything);
    assert_eq!(Secrecy::Nothing.with(&star), star);
}

#[test]
fn a_way_that_leads_nowhere_is_refused() {
    for path in ["", ".", "a..b", "a.", "**", "a.**"] {
        assert_eq!(path.parse::<FieldPath>(), Err(NoFieldPath), "{path}");
    }
    assert_eq!("a.*.b".parse::<FieldPath>().unwrap().to_string(), "a.*.b");
}

/// JSON of any shape, in which this value stands at each place that the names a or b lead to.
fn shape(secret: Value) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\é]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let secret = secret.clone();
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            (
                prop::collection::btree_map("[c-e]{1,2}", inner, 0..4),
                any::<bool>()
            )
                .prop_map(move |(members, holds)| {
                    let mut object: serde_json::Map<String, Value> = members.into_iter().collect();
                    if holds {
                        object.insert("a".to_owned(), secret.clone());
                    }
                    Value::Object(object)
                }),
        ]
    })
}

proptest! {
    #[test]
    fn a_hidden_value_is_nowhere_in_what_is_shown(
        payload in shape(json!({ "deep": ["hunter2hunter2", 271_828_182_845_i64] })),
    ) {
        // As deep as the shapes are.
        let ways: Vec<String> = (0..8).map(|depth| format!("{}a", "*.".repeat(depth))).collect();
        let secrecy = fields(&ways.iter().map(String::as_str).collect::<Vec<_>>());
        let stored = Payload::from(payload.to_string());
        for secrecy in [secrecy, Secrecy::Everything] {
            let shown = secrecy.hidden(&stored);
            prop_assert!(!text(&shown).contains("hunter2"), "{}", text(&shown));
            prop_assert!(!text(&shown).contains("271828182845"), "{}", text(&shown));
            let said = cleared(&payload.to_string(), secrecy.values(&stored).iter().map(String::as_str));
            prop_assert!(!said.contains("hunter2") && !said.contains("271828182845"), "{said}");
        }
        prop_assert_eq!(Secrecy::Nothing.hidden(&stored), stored);
    }
}

/// A destination whose words come behind a colon.
#[derive(Debug)]
struct Talkative;

impl Destination for Talkative {
    fn deliver<'a>(
        &'a self,
        _: crate::destination::Delivery<'a>,
    ) -> futures_core::future::BoxFuture<'a, Outcome> {
        Box::pin(std::future::ready(Outcome::Delivered))
    }

    fn kind(&self) -> &'static str {
        "talkative"
    }

    fn words<'r>(&self, reason: &'r str) -> &'r str {
        reason.split_once(": ").map_or("", |(_, words)| words)
    }
}

#[test]
fn where_too_much_is_hidden_to_look_for_nothing_is_kept_of_what_a_destination_says() {
    let large: Vec<String> = (0..100_000).map(|number| format!("secret-{number:06}")).collect();
    let new = |payload: String| {
        let new = crate::NewMessage::to("billing").payload(payload);
        Message::of(&new, crate::MessageId::new(1, 1), crate::Timestamp::default())
    };
    let (large, small) = (
        new(serde_json::json!({ "all": large }).to_string()),
        new(r#"{"all":"secret-000007"}"#.to_owned()),
    );
    let reason = |message: &Message, reason: &str| {
        let outcome = Outcome::Ambiguous {
            reason: reason.to_owned(),
            asked: None,
        };
        match fields(&["all"]).cleared_outcome(outcome, message, &Talkative) {
            Outcome::Ambiguous { reason, .. } => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason(&large, "400: no secret-000007"), "400: …");
    assert_eq!(reason(&large, "connection refused"), "connection refused");
    assert_eq!(reason(&small, "400: no secret-000007"), "400: no …");
    assert_eq!(fields(&["all"]).cleared("no secret-000007", &large), "…");
}
