use std::time::Duration;

use proptest::prelude::*;

use super::{EventTooLarge, Parser, SseEvent};

fn parse(text: &[u8]) -> Vec<SseEvent> {
    parse_cut(text, &[]).0
}

/// Reads the text in the pieces that the cuts make of it.
fn parse_cut(text: &[u8], cuts: &[usize]) -> (Vec<SseEvent>, Parser) {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    let mut parser = Parser::new(4096);
    let mut events = Vec::new();
    for piece in cuts.windows(2) {
        let mut bytes = &text[piece[0]..piece[1]];
        while let Some(event) = parser.feed(&mut bytes).unwrap() {
            events.push(event);
        }
        assert!(bytes.is_empty());
    }
    (events, parser)
}

fn event(event_type: &str, data: &str, id: &str) -> SseEvent {
    SseEvent {
        event_type: event_type.to_owned(),
        data: data.to_owned(),
        id: id.to_owned(),
    }
}

fn message(data: &str) -> SseEvent {
    event("message", data, "")
}

#[test]
fn the_standards_own_examples() {
    assert_eq!(
        parse(b"data: YHOO\ndata: +2\ndata: 10\n\n"),
        [message("YHOO\n+2\n10")]
    );
    let text =
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n";
    let expected = [
        event("message", "first event", "1"),
        message("second event"),
        message(" third event"),
    ];
    assert_eq!(parse(text), expected);
    assert_eq!(
        parse(b"data\n\ndata\ndata\n\ndata:"),
        [message(""), message("\n")]
    );
    assert_eq!(
        parse(b"data:test\n\ndata: test\n\n"),
        [message("test"), message("test")]
    );
}

#[test]
fn lines_end_in_three_ways() {
    let expected = [message("a\nb"), message("c")];
    for text in ["data:a\ndata:b\n\ndata:c\n\n", "data:a\rdata:b\r\rdata:c\r\r"] {
        assert_eq!(parse(text.as_bytes()), expected);
    }
    assert_eq!(parse(b"data:a\r\ndata:b\r\n\r\ndata:c\r\n\r\n"), expected);
    assert_eq!(parse(b"data:a\r\ndata:b\n\rdata:c\r\r\n"), expected);
}

#[test]
fn an_event_that_is_not_whole_is_not_an_event_and_its_id_not_a_place() {
    let (events, parser) = parse_cut(b"id: 1\ndata: a\n\nid: 2\ndata: b\n", &[]);
    assert_eq!(events, [event("message", "a", "1")]);
    assert_eq!(parser.last_event_id(), "1");
    let (events, parser) = parse_cut(b"id: 3\n\n", &[]);
    assert_eq!(events, []);
    assert_eq!(parser.last_event_id(), "3");
}

#[test]
fn only_a_mark_at_the_very_start_is_no_text() {
    assert_eq!(parse(b"\xEF\xBB\xBFdata: a\n\n"), [message("a")]);
    assert_eq!(parse(b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n"), []);
    assert_eq!(parse(b"\n\xEF\xBB\xBFdata: a\n\n"), []);
}

#[test]
fn ids_types_and_retries_keep_their_rules() {
    assert_eq!(
        parse(b"id: 1\0\nid: 2\nid: 3\0\ndata: a\n\n"),
        [event("message", "a", "2")]
    );
    let text = b"event: add\ndata: 1\n\nevent: drop\n\ndata: 2\n\nEvent: x\nevent :y\ndata: 3\n\n";
    assert_eq!(parse(text), [event("add", "1", ""), message("2"), message("3")]);
    for (value, expected) in [
        ("250", Some(250)),
        ("0", Some(0)),
        ("-1", None),
        ("1.5", None),
        ("", None),
        ("+3", None),
        ("99999999999999999999999999", Some(u64::MAX)),
    ] {
        let (_, mut parser) = parse_cut(format!("retry: {value}\n").as_bytes(), &[]);
        assert_eq!(
            parser.take_retry(),
            expected.map(Duration::from_millis),
            "{value}"
        );
        assert_eq!(parser.take_retry(), None);
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    assert_eq!(
        parse(b"data: a\xFFb\xE2\x82\n\n"),
        [message("a\u{FFFD}b\u{FFFD}")]
    );
}

#[test]
fn an_id_outlives_its_connection() {
    let mut parser = Parser::new(100).resumed("41");
    let event = parser.feed(&mut b"data: beat\n\n".as_slice()).unwrap().unwrap();
    assert_eq!(event.id, "41");
    assert_eq!(parser.last_event_id(), "41");
}

#[test]
fn an_event_without_end_is_refused_in_bounded_memory() {
    for endless in [&b"data: x\n"[..], b"xxxxxxxx", b":comment "] {
        let mut parser = Parser::new(1000);
        let refused = (0..1000).find_map(|_| parser.feed(&mut &endless[..]).err());
        assert_eq!(refused, Some(EventTooLarge { limit: 1000 }));
    }
    let mut parser = Parser::new(20);
    for _ in 0..1000 {
        assert!(
            parser
                .feed(&mut b"data: 12345678\n\n".as_slice())
                .unwrap()
                .is_some()
        );
    }
}

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        "(data|id|event|retry|:|x)(: ?|)[a-zé€\u{1F980} :\u{0}]{0,8}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..8),
    ]
}

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let ends = prop_oneof![Just("\n"), Just("\r"), Just("\r\n")];
    let lines = proptest::collection::vec((any_line(), ends), 0..30);
    (any::<bool>(), lines).prop_map(|(marked, lines)| {
        let mut text = if marked {
            b"\xEF\xBB\xBF".to_vec()
        } else {
            Vec::new()
        };
        for (line, end) in lines {
            text.extend(line);
            text.extend(end.bytes());
        }
        text
    })
}

/// The standard read literally, with the whole text at hand.
fn model(text: &[u8]) -> Vec<SseEvent> {
    let text = String::from_utf8_lossy(text);
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let Some((whole, _)) = text.rsplit_once('\n') else {
        return Vec::new();
    };
    let (mut events, mut data, mut kind, mut id) = (Vec::new(), Vec::new(), "", "");
    for line in whole.split('\n') {
        if line.is_empty() {
            let lines: Vec<&str> = std::mem::take(&mut data);
            if !lines.is_empty() {
                let kind = if kind.is_empty() { "message" } else { kind };
                events.push(event(kind, &lines.join("\n"), id));
            }
            kind = "";
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.push(value),
            "event" => kind = value,
            "id" if !value.contains('\0') => id = value,
            _ => {}
        }
    }
    events
}

proptest! {
    #[test]
    fn where_the_bytes_are_cut_changes_nothing(
        text in any_text(),
        cuts in proptest::collection::vec(any::<usize>(), 0..40),
    ) {
        prop_assert_eq!(parse_cut(&text, &cuts).0, model(&text));
        let everywhere: Vec<usize> = (0..text.len()).collect();
        prop_assert_eq!(parse_cut(&text, &everywhere).0, model(&text));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        prop_assert_eq!(parse(&bytes), model(&bytes));
    }
}
