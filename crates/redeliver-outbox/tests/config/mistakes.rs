use std::{fmt::Write as _, fs};

use proptest::prelude::*;
use redeliver_outbox::config::{Config, Place};

use crate::{BILLING, SECRET, parse, tempdir};

/// An import without its payload.
const IMPORT: &str = "[import.shop]\ntable = \"t\"\norder = \"id\"\ntopic = \"orders\"\n";

#[test]
fn every_mistake_is_told_with_its_place_and_what_is_allowed() {
    let cases = [
        ("no TOML", "database = \"a\nrelay = 1".to_owned()),
        ("a name twice", "database = \"a\"\ndatabase = \"b\"".to_owned()),
        (
            "an unknown table",
            "[destination.billing]\ntype = \"log\"".to_owned(),
        ),
        ("an unknown field", format!("{BILLING}tiemout = \"5s\"")),
        ("a stranger", "[relay]\nlease = \"5s\"\nfärbung = 1".to_owned()),
        (
            "a missing type",
            "[destinations.billing]\nurl = \"https://example.com\"".to_owned(),
        ),
        (
            "an unknown type",
            "[destinations.billing]\ntype = \"smtp\"".to_owned(),
        ),
        (
            "a missing url",
            "[destinations.billing]\ntype = \"http\"".to_owned(),
        ),
        (
            "a field of another type",
            "[destinations.audit]\ntype = \"log\"\nurl = \"https://example.com\"".to_owned(),
        ),
        (
            "a route to nobody known",
            format!("{BILLING}[routes]\n\"orders.*\" = [\"biling\"]"),
        ),
        (
            "a route without destinations",
            "[routes]\n\"orders.*\" = \"billing\"".to_owned(),
        ),
        (
            "a route of the wrong kind",
            format!("{BILLING}[routes]\n\"orders.*\" = 5"),
        ),
        (
            "a destination twice",
            format!("{BILLING}[routes]\norders = [\"billing\", \"billing\"]"),
        ),
        (
            "a pattern without quotes",
            format!("{BILLING}[routes]\norders.paid = \"billing\""),
        ),
        (
            "an empty pattern",
            format!("{BILLING}[routes]\n\"\" = \"billing\""),
        ),
        (
            "a broken pattern",
            format!("{BILLING}[routes]\n\"**.paid\" = \"billing\""),
        ),
        (
            "a pattern twice",
            format!("{BILLING}[routes]\norders = \"billing\"\norders = []"),
        ),
        ("a number for a duration", format!("{BILLING}timeout = 30")),
        ("a duration without a unit", format!("{BILLING}timeout = \"30\"")),
        ("a duration out of range", "[relay]\nlease = \"1ms\"".to_owned()),
        ("a count out of range", format!("{BILLING}concurrency = 0")),
        ("a size", "relay.window_bytes = \"much\"".to_owned()),
        ("a word", format!("{BILLING}lane = \"wait\"")),
        (
            "a secret that is no field",
            format!("{BILLING}secret = [\"card\",\n  \"a..b\"]"),
        ),
        ("a secret that is nothing", format!("{BILLING}secret = []")),
        ("a secret that is a text", format!("{BILLING}secret = \"card\"")),
        ("a status", format!("{BILLING}retry_statuses = [425,\n  42]")),
        ("an unknown preset", format!("{BILLING}policy = \"heroic\"")),
        (
            "a policy's value",
            format!("{BILLING}policy = {{ base = \"1s\", max_attempts = 0 }}"),
        ),
        (
            "a policy's text",
            format!("{BILLING}[destinations.billing.policy]\nbase = \"1s\"\njitter = \"wild\""),
        ),
        (
            "a policy's unknown field",
            format!("{BILLING}policy = {{ max_atempts = 3 }}"),
        ),
        (
            "a missing variable",
            format!("{BILLING}headers = {{ a = \"$TOKEN\", b = \"$MISSING\", c = \"hunter2\" }}"),
        ),
        (
            "a missing variable in a table",
            format!("{BILLING}headers = {{ a = {{ env = \"MISSING\" }}, c = \"hunter2\" }}"),
        ),
        (
            "no name of a variable",
            format!("{BILLING}headers = {{ a = \"$hunter2-hunter2\" }}"),
        ),
        (
            "a secret of the wrong kind",
            format!("{BILLING}headers = {{ a = [\"hunter2\"] }}"),
        ),
        (
            "headers that are no table",
            format!("{BILLING}headers = \"{SECRET}\""),
        ),
        (
            "a broken header",
            format!("{BILLING}headers = {{ a = \"$BROKEN\" }}"),
        ),
        (
            "a header of the connection",
            format!("{BILLING}headers = {{ Content-Length = \"7\" }}"),
        ),
        (
            "a url with a password",
            "[destinations.billing]\ntype = \"http\"\nurl = \"$URL\"".to_owned(),
        ),
        (
            "a url without a scheme",
            "[destinations.billing]\ntype = \"http\"\nurl = \"example.com\"".to_owned(),
        ),
        (
            "an import without a place to go",
            format!("{IMPORT}payload = {{ column = \"p\" }}").replace("topic = \"orders\"\n", ""),
        ),
        (
            "an import to nowhere",
            format!("{BILLING}{IMPORT}destination = \"biling\""),
        ),
        (
            "an import's payload that is no column",
            format!("{IMPORT}payload = \"p\""),
        ),
        (
            "an import's payload of no columns",
            format!("{IMPORT}payload = {{ columns = [] }}"),
        ),
        (
            "an import's table with too many dots",
            format!("{IMPORT}payload = {{ column = \"p\" }}").replace("\"t\"", "\"a.b.c\""),
        ),
        (
            "an import's source of the wrong kind",
            format!("{IMPORT}payload = {{ column = \"p\" }}\nkey = 7"),
        ),
        (
            "an import's unknown part of a source",
            format!("{IMPORT}payload = {{ column = \"p\" }}\nkey = {{ colum = \"k\" }}"),
        ),
        (
            "an import's headers that are no object",
            format!("{IMPORT}payload = {{ column = \"p\" }}\nheaders = \"[1]\""),
        ),
        (
            "an import's time that is none",
            format!("{IMPORT}payload = {{ column = \"p\" }}\nexpires_at = \"soon\""),
        ),
        (
            "an import's condition that says nothing",
            format!("{IMPORT}payload = {{ column = \"p\" }}\nwhere = \" \""),
        ),
        (
            "an import's name with a colon",
            "[import.\"a:b\"]\ntable = \"t\"".to_owned(),
        ),
        (
            "an import's database of the wrong kind",
            format!("{IMPORT}payload = {{ column = \"p\" }}\ndatabase = [\"hunter2\"]"),
        ),
        ("a missing schema", format!("{BILLING}schema = \"nowhere.json\"")),
        (
            "a schema for anything",
            format!("{BILLING}schema = \"nowhere.json\"\nexpects = \"anything\""),
        ),
        ("manners that are none", format!("{BILLING}manners = \"good\"")),
        ("a stranger's manners", format!("{BILLING}manners.rates = 5")),
        ("no rate", format!("{BILLING}manners.rate = 0")),
        ("a rate below zero", format!("{BILLING}manners.rate = -2.5")),
        ("an infinite rate", format!("{BILLING}manners.rate = inf")),
        ("a rate that is none", format!("{BILLING}manners.rate = nan")),
        ("a rate in words", format!("{BILLING}manners.rate = \"fast\"")),
        (
            "a floor above the most",
            format!("{BILLING}concurrency = 4\nmanners.floor = 5"),
        ),
        ("no retries", format!("{BILLING}manners.retry_floor = 0")),
        ("a share", format!("{BILLING}manners.retry_share = 10.5")),
        ("a breaker's word", format!("{BILLING}manners.breaker = \"on\"")),
        (
            "a breaker's share",
            format!("{BILLING}manners.breaker = {{ failures = 80 }}"),
        ),
        (
            "a breaker's stranger",
            format!("{BILLING}manners.breaker = {{ after = \"30s\" }}"),
        ),
        (
            "a breaker that never opens",
            format!("{BILLING}manners.breaker = {{ open_for = \"0s\" }}"),
        ),
        ("a rest", format!("{BILLING}manners.longest_rest = \"8d\"")),
        ("a surge", format!("{BILLING}manners.surge = \"never\"")),
        ("a surge of one", format!("{BILLING}manners.surge = {{ of = 1 }}")),
        ("a prefix", "prefix = \"Drop Table\"".to_owned()),
        ("a table that is none", "relay = 5".to_owned()),
        (
            "a name that is empty",
            "[destinations.\"\"]\ntype = \"log\"".to_owned(),
        ),
    ];
    let mut told = String::new();
    for (what, text) in cases {
        let error = parse(&text).unwrap_err();
        assert!(error.place.is_some(), "{what}: {error}");
        let error = error.to_string();
        assert!(
            !error.contains(SECRET) && !error.contains('\n'),
            "{what}: {error}"
        );
        writeln!(told, "# {what}\n{error}\n").unwrap();
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_place_is_counted_in_characters() {
    let error = parse("# ä\nretention = { sent = \"ä\", x = 1 }").unwrap_err();
    assert_eq!(error.place, Some(Place { line: 2, column: 27 }));
}

#[test]
fn files_are_looked_for_beside_the_file_and_told_if_they_are_wrong() {
    let directory = tempdir("beside");
    let file = directory.join("redeliver.toml");
    let load = |schema: &str| {
        fs::write(directory.join("order.json"), schema).unwrap();
        fs::write(&file, format!("{BILLING}schema = \"order.json\"")).unwrap();
        Config::load(&file).map_err(|error| error.to_string())
    };
    assert!(load(r#"{"type":"object","required":["id"]}"#).is_ok());
    for (schema, words) in [
        ("{", "is no JSON: "),
        (r#"{"type":"objekt"}"#, "is no JSON Schema: "),
        (
            r#"{"$ref":"https://example.com/order.json"}"#,
            "nothing is fetched",
        ),
        (r#"{"$ref":"file:///etc/hostname"}"#, "nothing is fetched"),
    ] {
        let error = load(schema).unwrap_err();
        assert!(
            error.contains("redeliver.toml:4:10: destinations.billing.schema: \"order.json\""),
            "{error}"
        );
        assert!(error.contains(words), "{error}");
    }
    let error = Config::load(&directory.join("missing.toml"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("missing.toml: cannot be read: "), "{error}");
    fs::write(&file, vec![b'#'; (1 << 20) + 1]).unwrap();
    let error = Config::load(&file).unwrap_err().to_string();
    assert!(error.contains("is longer than the 1048576 bytes"), "{error}");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn tables_without_an_end_are_refused() {
    for text in [
        "a = ".to_owned() + &"[".repeat(100_000),
        "a = ".to_owned() + &"{b=".repeat(100_000),
    ] {
        parse(&text).unwrap_err();
    }
}

proptest! {
    #[test]
    fn whatever_is_written_is_answered(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn a_damaged_file_is_answered(from in 0..Config::example().len(), length in 0..40_usize, put in "[\\[\\]{}=\".a-z0-9\\n]{0,6}") {
        let mut bytes = Config::example().as_bytes().to_vec();
        let end = (from + length).min(bytes.len());
        bytes.splice(from..end, put.bytes());
        if let Err(error) = parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert!(error.place.is_some() && !error.to_string().contains('\n'), "{error}");
        }
    }
}
