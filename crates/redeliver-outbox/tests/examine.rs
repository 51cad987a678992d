//! What can never be delivered is seen before the first attempt.

use proptest::prelude::*;
use redeliver_outbox::{
    DeadReason, Message, MessageId, Payload, Timestamp,
    destination::{Expects, Log, Route, Routes, examine, fits},
};

fn message(payload: impl Into<Payload>) -> Message {
    Message {
        id: MessageId::new(42, 7),
        shard: 0,
        destination: "billing".to_owned(),
        topic: None,
        key: None,
        payload: payload.into(),
        content_type: None,
        headers: None,
        traceparent: None,
        not_before: None,
        expires_at: None,
        created_at: Timestamp::from_millis(0),
        attempts: 0,
        redrives: 0,
        next_attempt_at: None,
        last_attempt_at: None,
        last_error: None,
        last_wait_ms: 0,
        interrupted: false,
        withheld: None,
        unreadable_key: false,
    }
}

fn expecting(expects: Expects) -> Route {
    Route {
        expects,
        ..Route::to(Log)
    }
}

#[test]
fn an_unknown_destination_is_told_with_the_known_ones() {
    let message = message("{}");
    let told = |routes: &Routes| examine(&message, routes).unwrap_err();
    let unknown = DeadReason::UnknownDestination;
    let nothing = "no destination is called \"billing\"; none is configured".to_owned();
    assert_eq!(told(&Routes::new()), (unknown, nothing));
    let routes = Routes::new()
        .with("audit", Route::to(Log))
        .with("search", Route::to(Log));
    let two = "no destination is called \"billing\"; known are audit, search".to_owned();
    assert_eq!(told(&routes), (unknown, two));
    let many = (0..12).fold(Routes::new(), |routes, i| {
        routes.with(format!("d{i:02}"), Route::to(Log))
    });
    assert!(told(&many).1.ends_with("d08, d09 and 2 more"));
    let known = routes.with("billing", expecting(Expects::Json));
    assert!(matches!(
        examine(&message, &known).unwrap().expects,
        Expects::Json
    ));
}

#[test]
fn each_rule_has_its_own_reason() {
    let route = Route {
        payload_limit: 10,
        ..expecting(Expects::Json)
    };
    let headers = |text: &str| Message {
        headers: Some(text.to_owned()),
        ..message("{}")
    };
    let key = |length| Message {
        key: Some("k".repeat(length)),
        ..message("{}")
    };
    let typed = |content_type: &str, payload: &str| Message {
        content_type: Some(content_type.to_owned()),
        ..message(payload)
    };
    for right in [
        key(1000),
        message("[1,2,3456]"),
        headers(r#"{"x-a":"1"}"#),
        headers("{}"),
        message(r#"{"a":1}"#),
        message(" null "),
        typed("text/plain", "no json"),
        typed("application/json; charset=utf-8", "{}"),
    ] {
        assert_eq!(fits(&right, &route), Ok(()), "{right:?}");
    }
    use DeadReason::{InvalidHeaders, InvalidKey, InvalidPayload, TooLarge};
    for (wrong, kind, words) in [
        (key(1001), InvalidKey, "the key has 1001 bytes; at most 1000"),
        (
            message("[1,2,34567]"),
            TooLarge,
            "has 11 bytes; this destination takes at most 10",
        ),
        (
            headers("[]"),
            InvalidHeaders,
            "are a list, not a JSON object of texts",
        ),
        (headers("{"), InvalidHeaders, "are no JSON: EOF"),
        (
            headers(r#"{"x":null}"#),
            InvalidHeaders,
            "header x is null, not a text",
        ),
        (
            headers(r#"{"x":"a\nb"}"#),
            InvalidHeaders,
            "hold the character '\\n'",
        ),
        (headers(r#"{"a b":"c"}"#), InvalidHeaders, "hold the name \"a b\""),
        (
            headers(&format!("{{\"x\":\"{}\"}}", "y".repeat(20_000))),
            InvalidHeaders,
            "have 20008 bytes",
        ),
        (
            typed("a\r\nb: c", "{}"),
            InvalidHeaders,
            "content type holds the character '\\r'",
        ),
        (
            message(""),
            InvalidPayload,
            "is no JSON: EOF while parsing a value at line 1 column 0",
        ),
        (
            message("{\n \"a\": }"),
            InvalidPayload,
            "expected value at line 2 column 7",
        ),
        (
            message("{} x"),
            InvalidPayload,
            "trailing characters at line 1 column 4",
        ),
        (message(vec![b'"', 0xff, b'"']), InvalidPayload, "no UTF-8"),
        (
            typed("Application/JSON;charset=utf-8", "no"),
            InvalidPayload,
            "is no JSON",
        ),
        (
            typed("application/cloudevents+json", "no"),
            InvalidPayload,
            "is no JSON",
        ),
    ] {
        let (reason, text) = fits(&wrong, &route).unwrap_err();
        assert_eq!(reason, kind, "{text}");
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn depth_is_no_danger() {
    let route = Route {
        payload_limit: 1 << 30,
        ..expecting(Expects::Json)
    };
    let deep = 5_000_000;
    let bomb = "[".repeat(deep);
    assert_eq!(
        fits(&message(bomb.as_str()), &route).unwrap_err().0,
        DeadReason::InvalidPayload
    );
    let closed = bomb + &"]".repeat(deep);
    assert_eq!(fits(&message(closed.as_str()), &route), Ok(()));
    let headers = Message {
        headers: Some("{\"a\":".repeat(3000)),
        ..message("{}")
    };
    assert_eq!(fits(&headers, &route).unwrap_err().0, DeadReason::InvalidHeaders);
    // A key twice is nothing that JSON forbids.
    assert_eq!(fits(&message(r#"{"a":1,"a":2}"#), &route), Ok(()));
}

#[cfg(feature = "schema")]
mod schema {
    use redeliver_outbox::destination::json_schema;
    use serde_json::json;

    use super::*;

    fn order() -> Route {
        let schema = json!({
            "type": "object",
            "required": ["id", "total"],
            "properties": {
                "id": { "type": "integer" },
                "total": { "type": "string", "pattern": "^[0-9.]+$" },
                "lines": { "type": "array", "items": { "$ref": "#/$defs/line" } },
            },
            "$defs": { "line": { "type": "object", "required": ["sku"] } },
        });
        Route {
            payload_limit: 1 << 30,
            ..expecting(Expects::Schema(json_schema(&schema).expect("a schema")))
        }
    }

    #[test]
    fn what_fits_is_sent() {
        let order = order();
        let fine = message(r#"{"id":7,"total":"12.50","lines":[{"sku":"a"}]}"#);
        assert_eq!(fits(&fine, &order), Ok(()));
    }

    #[test]
    fn what_does_not_is_told_with_its_paths_and_without_its_values() {
        let order = order();
        let payload = r#"{"id":"hunter2","total":"hunter2","lines":[{"sku":1},{},"hunter2"]}"#;
        let (kind, text) = fits(&message(payload), &order).unwrap_err();
        assert_eq!(kind, DeadReason::SchemaViolation);
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.ends_with("; and 1 more"), "{text}");
        let paths = ["/id: ", "/lines/1: ", "/lines/2: ", "/total: "];
        assert_eq!(
            paths.iter().filter(|path| text.contains(**path)).count(),
            3,
            "{text}"
        );
        let (_, text) = fits(&message("{}"), &order).unwrap_err();
        assert!(
            text.contains("the payload: \"id\" is a required property"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_json_fits_no_schema() {
        let order = order();
        let typed = Message {
            content_type: Some("text/plain".to_owned()),
            ..message("no json")
        };
        let bomb = "[".repeat(5_000_000);
        for wrong in [typed, message(bomb.as_str()), message(vec![0xff])] {
            assert_eq!(fits(&wrong, &order).unwrap_err().0, DeadReason::InvalidPayload);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(payload in any::<Vec<u8>>(), id in any::<String>()) {
            let order = order();
            let _ = fits(&message(payload), &order);
            let text = json!({ "id": id, "total": 7, "lines": [id] }).to_string();
            let refused = fits(&message(text), &order).unwrap_err();
            prop_assert_eq!(refused.0, DeadReason::SchemaViolation);
        }
    }
}

proptest! {
    #[test]
    fn nothing_panics(
        payload in any::<Vec<u8>>(),
        key in any::<Option<String>>(),
        headers in any::<Option<String>>(),
        content_type in any::<Option<String>>(),
        destination in any::<String>(),
    ) {
        let message = Message { key, headers, content_type, destination, ..message(payload) };
        let routes = Routes::new().with("billing", Route::to(Log));
        let _ = examine(&message, &routes);
        let _ = fits(&message, &expecting(Expects::Json));
    }

    #[test]
    fn json_is_what_json_is(text in r#"[\[\]{}",:0-9.eE+a-f\\u \n-]{0,24}"#) {
        let fits = fits(&message(text.as_str()), &expecting(Expects::Json)).is_ok();
        // A reader that keeps values refuses more: numbers too large for it, halves of a character.
        if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
            prop_assert!(fits, "{text}");
        }
    }

    #[test]
    fn headers_that_pass_can_be_sent(names in prop::collection::vec("[!-~]{0,8}", 0..4), value in any::<String>()) {
        let object: serde_json::Map<_, _> = names.into_iter().map(|name| (name, value.clone().into())).collect();
        let sendable = object.keys().all(|name| !name.is_empty() && !name.contains(['(', ')', ',', '/', ':', ';', '<', '=', '>', '?', '@', '[', '\\', ']', '{', '}', '"']));
        let visible = value.chars().all(|c| c == '\t' || (' '..='~').contains(&c));
        let expected = object.is_empty() || (sendable && visible);
        let headers = Some(serde_json::Value::Object(object).to_string());
        let message = Message { headers, ..message("{}") };
        prop_assert_eq!(fits(&message, &Route::to(Log)).is_ok(), expected);
    }
}

#[test]
fn a_column_that_becomes_a_header_has_the_same_limit_in_every_database() {
    let long = Some("k".repeat(201));
    for refused in [
        Message {
            content_type: long.clone(),
            ..message("{}")
        },
        Message {
            traceparent: long,
            ..message("{}")
        },
    ] {
        let (kind, reason) = fits(&refused, &expecting(Expects::Anything)).unwrap_err();
        assert_eq!(kind, DeadReason::InvalidHeaders);
        assert!(
            reason.contains("has 201 bytes; at most 200 are allowed"),
            "{reason}"
        );
    }
}
