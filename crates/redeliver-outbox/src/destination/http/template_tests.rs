use std::time::Duration;

use http::{HeaderValue, Uri};
use proptest::prelude::*;

use super::{super::target, *};
use crate::{Message, MessageId, Payload, Timestamp, destination::http::target::Target};

const BODY: Place = Place::Body(Format::Json);
const PLAIN: Place = Place::Body(Format::Plain);

fn message(key: Option<&str>, payload: impl Into<Payload>) -> Message {
    Message {
        id: MessageId::new(42, 7),
        shard: 0,
        destination: "shop".to_owned(),
        topic: None,
        key: key.map(str::to_owned),
        payload: payload.into(),
        content_type: None,
        headers: None,
        traceparent: None,
        not_before: None,
        expires_at: None,
        created_at: Timestamp::from_millis(951_782_400_000),
        attempts: 2,
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

fn render(text: &str, place: Place, message: &Message) -> Result<String, String> {
    let delivery = Delivery {
        message,
        attempt: 3,
        timeout: Duration::from_secs(1),
    };
    Template::parse(text, place).unwrap().render_text(delivery)
}

fn url(text: &str, message: &Message) -> Result<Uri, String> {
    let (template, host) = target::parse(text)?;
    let target = Target::rendered(template, host.parse().map_err(|_| "no URL")?)?;
    let delivery = Delivery {
        message,
        attempt: 3,
        timeout: Duration::from_secs(1),
    };
    Ok(target.url(delivery)?.into_owned())
}

#[test]
fn every_placeholder_is_filled_in() {
    let text = "{{id}} {{ key }} {{destination}} {{attempt}} {{created_at}} {{payload}} {{payload.a.b}} {{payload.c.1}} {{{{ }} {";
    let message = message(Some("order-7"), r#"{"a":{"b":"x"},"c":[1,2.50]}"#);
    assert_eq!(
        render(text, PLAIN, &message).unwrap(),
        r#"00000000-0000-802a-8000-000000000007 order-7 shop 3 2000-02-29T00:00:00.000Z {"a":{"b":"x"},"c":[1,2.50]} x 2.50 {{ }} {"#
    );
}

#[test]
fn a_value_is_escaped_for_its_place() {
    let message = message(
        Some("a/b?c=1&d#ä \"<"),
        r#"{"s":"q\"\\\n\u00e4","n":12345678901234567890.10,"o":{"x":[null]},"z":null}"#,
    );
    for (text, place, expected) in [
        (
            r#"{"k":"{{key}}","s":"-{{payload.s}}-","e":"\"{{key}}"}"#,
            BODY,
            r#"{"k":"a/b?c=1&d#ä \"<","s":"-q\"\\\nä-","e":"\"a/b?c=1&d#ä \"<"}"#,
        ),
        (
            r#"[{{key}},{{payload.s}},{{payload.n}},{{payload.o}},{{payload.z}},{{attempt}}]"#,
            BODY,
            r#"["a/b?c=1&d#ä \"<","q\"\\\n\u00e4",12345678901234567890.10,{"x":[null]},null,3]"#,
        ),
        (r#"{"o":"{{payload.o}}"}"#, BODY, r#"{"o":"{\"x\":[null]}"}"#),
        (
            "k={{key}}&n={{payload.n}}",
            Place::Body(Format::Form),
            "k=a%2Fb%3Fc%3D1%26d%23%C3%A4%20%22%3C&n=12345678901234567890.10",
        ),
        (
            "<k a='{{key}}'>{{payload.s}}</k>",
            Place::Body(Format::Xml),
            "<k a='a/b?c=1&amp;d#ä &quot;&lt;'>q&quot;\\&#10;ä</k>",
        ),
        ("n: {{payload.n}}", Place::Header, "n: 12345678901234567890.10"),
    ] {
        assert_eq!(render(text, place, &message).unwrap(), expected, "{text}");
    }
    assert_eq!(
        url("https://h:1/o/{{key}}/x?q={{key}}", &message).unwrap(),
        "https://h:1/o/a%2Fb%3Fc%3D1%26d%23%C3%A4%20%22%3C/x?q=a%2Fb%3Fc%3D1%26d%23%C3%A4%20%22%3C"
    );
}

#[test]
fn a_message_that_does_not_fit_is_told_why_without_its_values() {
    let odd = message(
        None,
        r#"{"a":{"b":null},"l":[1],"s":"hunter2\n","e":"","u":"\ud800"}"#,
    );
    for (text, place, words) in [
        ("{{key}}", PLAIN, "{{key}} has no value: the message has no key"),
        (
            "{{topic}}",
            PLAIN,
            "{{topic}} has no value: the message has no topic",
        ),
        ("{{payload.a.c}}", PLAIN, "payload.a has no c"),
        ("{{payload.x}}", PLAIN, "the payload has no x"),
        ("{{payload.a.b}}", PLAIN, "is null"),
        ("{{payload.l.1}}", PLAIN, "payload.l has no 1"),
        (
            "{{payload.s.t}}",
            PLAIN,
            "payload.s is neither an object nor a list",
        ),
        (
            "{{payload.s}}",
            Place::Header,
            "{{payload.s}} holds a character that no header may",
        ),
        ("{{payload.u}}", PLAIN, "no text"),
    ] {
        let reason = render(text, place, &odd).unwrap_err();
        assert!(
            reason.contains(words) && !reason.contains("hunter2"),
            "{text}: {reason}"
        );
    }
    assert_eq!(render(r#"{"k":{{key}}}"#, BODY, &odd).unwrap(), r#"{"k":null}"#);
    let reason = url("https://h/{{payload.e}}", &odd).unwrap_err();
    assert!(reason.contains("{{payload.e}} is empty"), "{reason}");
    assert_eq!(url("https://h/?{{payload.e}}", &odd).unwrap().path(), "/");
    for payload in [Payload::from("hunter2"), Payload::from_bytes(vec![0xff])] {
        let message = message(Some(".."), payload);
        render("{{payload.a}}", PLAIN, &message).unwrap_err();
        let reason = render("[{{payload}}]", BODY, &message).unwrap_err();
        assert!(!reason.contains("hunter2"), "{reason}");
        for text in [
            "https://h/a/{{key}}/b",
            "https://h/{{key}}",
            "https://h/.{{attempt}}/{{key}}?x",
        ] {
            let reason = url(text, &message).unwrap_err();
            assert!(reason.contains("segment"), "{reason}");
        }
    }
}

#[test]
fn what_is_no_template_is_told_with_its_place() {
    for (text, expected) in [
        ("ä{{id", "at character 2: {{ is not closed by }}"),
        (
            "{{{{ {{nmae}}",
            "at character 6: {{nmae}} is unknown; allowed are {{id}}, ",
        ),
        ("{{}}", "at character 1: {{}} is unknown"),
        ("{{payload.}}", "{{payload.}} is unknown"),
        ("{{payload.a..b}}", "{{payload.a..b}} is unknown"),
        ("{{{id}}", "{{{id}} is unknown"),
        ("{{payload.a\nb}}", "is unknown"),
    ] {
        let error = Template::parse(text, PLAIN).unwrap_err().to_string();
        assert!(
            error.starts_with(expected) || error.contains(expected),
            "{text}: {error}"
        );
        assert!(!error.contains('\n'), "{error}");
    }
    for text in [
        "https://{{key}}/",
        "https://h{{key}}",
        "{{key}}://h/",
        "https://h:{{key}}/",
        "https://{{key}}@h/",
    ] {
        let error = target::parse(text).unwrap_err();
        assert!(error.contains("must not choose the host"), "{text}: {error}");
    }
    for text in ["https://h/../{{key}}", "https://h/a b/{{key}}"] {
        assert!(url(text, &message(Some("k"), "{}")).is_err(), "{text}");
    }
}

fn any_payload() -> impl Strategy<Value = Payload> {
    let json = any::<String>()
        .prop_map(|text| Payload::from(serde_json::json!({ "a": text, "b": [text] }).to_string()));
    prop_oneof![
        json,
        any::<String>().prop_map(Payload::from),
        any::<Vec<u8>>().prop_map(Payload::from)
    ]
}

proptest! {
    #[test]
    fn whatever_is_written_is_answered(text in "([a-z.{}\"\\\\ ?/]|\\{\\{(id|key|payload|payload\\.a)\\}\\}|.){0,20}", key in any::<Option<String>>(), payload in any_payload()) {
        let message = message(key.as_deref(), payload);
        for place in [Place::Url, Place::Header, BODY, Place::Body(Format::Form), Place::Body(Format::Xml), Place::Body(Format::Plain)] {
            if Template::parse(&text, place).is_ok() {
                let _ = render(&text, place, &message);
            }
        }
        let _ = url(&text, &message);
    }

    #[test]
    fn a_header_stays_one(key in any::<String>(), payload in any_payload()) {
        let message = message(Some(&key), payload);
        for text in ["x {{key}}", "{{payload}}", "{{payload.a}}", "{{payload.b}}"] {
            if let Ok(value) = render(text, Place::Header, &message) {
                prop_assert!(!value.contains(['\r', '\n', '\0']));
                prop_assert!(HeaderValue::try_from(value).is_ok());
            }
        }
    }

    #[test]
    fn a_url_stays_on_its_host_and_in_its_shape(key in any::<String>(), payload in any_payload()) {
        let message = message(Some(&key), payload);
        for text in ["https://api.example.com:8443/v1/{{key}}/x?q={{payload}}&r=1", "https://api.example.com:8443/v1/{{payload.a}}/x?q={{key}}&r=1"] {
            if let Ok(url) = url(text, &message) {
                prop_assert_eq!(url.authority().unwrap().as_str(), "api.example.com:8443");
                prop_assert_eq!(url.scheme_str(), Some("https"));
                let segments: Vec<&str> = url.path().split('/').collect();
                prop_assert_eq!(segments.len(), 4, "{}", url);
                prop_assert_eq!((segments[1], segments[3]), ("v1", "x"));
                let pairs: Vec<&str> = url.query().unwrap().split('&').collect();
                prop_assert_eq!(pairs.len(), 2, "{}", url);
            }
        }
    }

    #[test]
    fn a_json_body_is_json_with_the_value_in_it(key in any::<String>(), payload in any_payload()) {
        let message = message(Some(&key), payload);
        for text in [r#"{"a":"-{{key}}","b":{{key}}}"#, r#"{"a":"-{{key}}","b":{{key}},"c":{{payload}},"d":"{{payload}}","e":"{{payload.b}}"}"#] {
            if let Ok(body) = render(text, BODY, &message) {
                let read: serde_json::Value = serde_json::from_str(&body).unwrap();
                prop_assert_eq!(read["a"].as_str().unwrap(), format!("-{key}"));
                prop_assert_eq!(read["b"].as_str().unwrap(), key.as_str());
            }
        }
    }
}
