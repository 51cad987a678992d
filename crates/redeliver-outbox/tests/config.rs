//! The file that a relay is configured with: what it means, and what is said of mistakes.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it should be"
)]

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use proptest::prelude::*;
use redeliver::{BudgetRule, Policy};
use redeliver_outbox::{
    config::{Config, ConfigError, Place, RelaySettings},
    desk::Retention,
    destination::{Expects, LanePolicy, Manners, SurgeRule},
    import::{self, PayloadSource, Source, TableName},
    store::Names,
};

const SECRET: &str = "hunter2";
/// An import without its payload.
const IMPORT: &str = "[import.shop]\ntable = \"t\"\norder = \"id\"\ntopic = \"orders\"\n";

fn parse(text: &str) -> Result<Config, ConfigError> {
    let variables = |name: &str| match name {
        "TOKEN" => Some(SECRET.to_owned()),
        "BROKEN" => Some(format!("{SECRET}\n{SECRET}")),
        "URL" => Some(format!("https://user:{SECRET}@example.com/{SECRET}?{SECRET}")),
        _ => None,
    };
    Config::parse(text, Path::new("redeliver.toml"), &variables)
}

#[test]
fn the_example_is_valid_and_says_the_defaults() {
    let config = parse(Config::example()).unwrap();
    assert_eq!(config.relay, RelaySettings::default());
    assert_eq!(config.names, Names::default());
    assert_eq!(config.database.as_deref(), Some("sqlite:outbox.db"));
    let billing = config.destinations.get("billing").unwrap();
    let bare =
        parse("[destinations.billing]\ntype = \"http\"\nurl = \"https://billing.example.com\"\n").unwrap();
    assert_eq!(config.retention, bare.retention);
    let bare = bare.destinations.get("billing").unwrap();
    assert_eq!(
        (
            billing.timeout,
            billing.concurrency,
            billing.lane,
            billing.payload_limit
        ),
        (bare.timeout, bare.concurrency, bare.lane, bare.payload_limit)
    );
    assert_eq!(
        (billing.policy, billing.idempotent),
        (bare.policy, bare.idempotent)
    );
    assert_eq!(billing.manners, bare.manners);
    assert!(matches!(
        (&billing.expects, &bare.expects),
        (Expects::Json, Expects::Json)
    ));
    let search = config.destinations.get("search").unwrap();
    assert_eq!(
        search.policy,
        Policy::BATCH
            .max_attempts(20)
            .deadline(Duration::from_secs(86_400))
    );
    let audit = config.destinations.get("audit").unwrap();
    assert_eq!(audit.destination.kind(), "log");
    assert!(matches!(audit.expects, Expects::Anything));
}

#[test]
fn what_the_example_comments_out_is_valid_too() {
    let directory = tempdir("commented");
    fs::write(directory.join("billing.schema.json"), r#"{"type":"object"}"#).unwrap();
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(
        directory.join("company-ca.pem"),
        pem("CERTIFICATE", certificate.cert.der()),
    )
    .unwrap();
    fs::write(
        directory.join("relay.pem"),
        pem("CERTIFICATE", certificate.cert.der()),
    )
    .unwrap();
    let key = pem("PRIVATE KEY", &certificate.signing_key.serialize_der());
    let settings = [
        "# schema",
        "# ca",
        "# client_certificate",
        "# client_key",
        "# proxy",
        "# http2",
        "# rate",
        "# body",
        "# retry_statuses",
        "# never_retry_statuses",
    ];
    let text: String = Config::example()
        .lines()
        .map(
            |line| match settings.iter().any(|setting| line.starts_with(setting)) {
                true => format!("{}\n", &line[2..]),
                false => format!("{line}\n"),
            },
        )
        .collect();
    let variables = |name: &str| (name == "RELAY_KEY").then(|| key.clone());
    let config = Config::parse(&text, &directory.join("redeliver.toml"), &variables).unwrap();
    assert_eq!(config.names.schema(), Some("messaging"));
    let billing = config.destinations.get("billing").unwrap();
    assert!(matches!(billing.expects, Expects::Schema(_)));
    fs::remove_dir_all(directory).unwrap();
}

fn pem(kind: &str, content: &[u8]) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let text = STANDARD.encode(content);
    format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
}

/// A directory of this test's own.
fn tempdir(name: &str) -> std::path::PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn topics_lead_to_destinations() {
    let config = parse(Config::example()).unwrap();
    let of = |topic| config.destinations.of_topic(topic).unwrap();
    assert_eq!(of("orders.paid"), ["audit", "billing"]);
    assert_eq!(of("users.new"), ["audit"]);
    let few = "[destinations.a]\ntype = \"log\"\n[routes]\n\"x.*\" = \"a\"\n\"quiet\" = []\n";
    let routes = parse(few).unwrap().destinations;
    assert_eq!(routes.of_topic("x.y"), Some(vec!["a".to_owned()]));
    assert_eq!(routes.of_topic("quiet"), Some(Vec::new()));
    assert_eq!(routes.of_topic("z"), None);
}

#[test]
fn an_empty_file_is_a_valid_one() {
    let config = parse("").unwrap();
    assert_eq!((config.database, config.destinations.iter().count()), (None, 0));
    assert_eq!(config.relay, RelaySettings::default());
}

#[test]
fn everything_that_is_set_is_set() {
    let config = parse(
        r#"
        database = "$TOKEN"
        schema = "messaging"
        prefix = "shop_"
        relay = { lease = "20s", window = 10, window_bytes = "2MiB", concurrency = 3, workers = 2, shutdown = "1s", poll_latest = "1s", history = false, history_payloads = false }
        retention = { sent = "1h", discarded = "forever", inbox = "2h", audit = "3h" }
        [destinations."a b"]
        type = "http"
        url = "http://localhost:1"
        allow_private = true
        headers = { a = "$TOKEN", b = { env = "TOKEN" }, c = "$$5", d = { env = "TOKEN", prefix = "Bearer " } }
        lane = "park"
        timeout = "1500ms"
        payload_limit = 77
        expects = "anything"
        idempotent = false
        policy = { preset = "batch", jitter = "full" }
        [destinations.b]
        type = "log"
        expects = "json"
        concurrency = 9
        policy = "interactive"
        manners = { floor = 9, rate = 0.25, retry_share = 2, retry_floor = 7, breaker = { failures = 0.5, of_at_least = 40, open_for = "1s" }, ramp = "0s", longest_rest = "2m", surge = { of = 20, share = 0.5 } }
        [destinations.c]
        type = "log"
        manners.breaker = "off"
        manners.surge = "off"
        manners.rate = 1_000
        "#,
    )
    .unwrap();
    assert_eq!(config.database.as_deref(), Some(SECRET));
    assert_eq!(config.names, Names::new(Some("messaging"), "shop_").unwrap());
    let seconds = Duration::from_secs;
    let relay = RelaySettings {
        lease: seconds(20),
        window: 10,
        window_bytes: 2 << 20,
        concurrency: 3,
        workers: 2,
        shutdown: seconds(1),
        poll_latest: seconds(1),
        history: false,
        history_payloads: false,
    };
    assert_eq!(config.relay, relay);
    let retention = Retention {
        sent: Some(seconds(3600)),
        discarded: None,
        inbox: Some(seconds(7200)),
        audit: Some(seconds(10_800)),
    };
    assert_eq!(config.retention, retention);
    let first = config.destinations.get("a b").unwrap();
    assert_eq!((first.lane, first.concurrency), (LanePolicy::Park, 3));
    assert_eq!(
        (first.timeout, first.payload_limit),
        (Duration::from_millis(1500), 77)
    );
    assert_eq!(first.policy, Policy::BATCH.jitter(redeliver::Jitter::Full));
    assert!(matches!(first.expects, Expects::Anything) && !first.idempotent);
    let second = config.destinations.get("b").unwrap();
    assert_eq!((second.concurrency, second.policy), (9, Policy::INTERACTIVE));
    assert!(matches!(second.expects, Expects::Json));
    let manners = Manners::default()
        .floor(9)
        .rate(0.25)
        .budget(BudgetRule::ratio(2.0).burst(1_000).floor_per_second(7))
        .ramp(Duration::ZERO)
        .longest_rest(seconds(120))
        .surge(Some(SurgeRule { of: 20, share: 0.5 }));
    let breaker = manners.breaker.failure_rate(0.5).minimum_calls(40);
    assert_eq!(second.manners, manners.breaker(breaker.open_for(seconds(1))));
    let third = config.destinations.get("c").unwrap().manners;
    assert_eq!(
        third,
        Manners::default().without_breaker().rate(1_000.0).surge(None)
    );
    assert!(!format!("{config:?}").contains(SECRET));
}

/// A valid destination, to which something wrong is added.
const BILLING: &str = "[destinations.billing]\ntype = \"http\"\nurl = \"https://example.com\"\n";

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

#[test]
fn an_import_says_what_the_columns_are() {
    let commented = Config::example().split("# [import.shop]").nth(1).unwrap();
    let lines = commented
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line));
    let text = format!("{BILLING}[import.shop]\n{}", lines.collect::<Vec<_>>().join("\n"));
    let variables = |name: &str| (name == "SHOP_DATABASE").then(|| format!("mysql://me:{SECRET}@db/shop"));
    let config = Config::parse(&text, Path::new("redeliver.toml"), &variables).unwrap();
    assert!(!format!("{config:?}").contains(SECRET));
    let shop = &config.imports["shop"];
    assert!(shop.database.as_deref().unwrap().contains(SECRET));
    let column = |name: &str| Some(Source::Column(name.to_owned()));
    let fixed = |text: &str| Some(Source::Fixed(text.to_owned()));
    let mapping = import::Mapping {
        table: TableName {
            schema: Some("public".to_owned()),
            name: "outbox_events".to_owned(),
        },
        order: "id".to_owned(),
        condition: Some("published_at IS NULL".to_owned()),
        destination: fixed("billing"),
        topic: column("event_type"),
        key: column("aggregate_id"),
        payload: PayloadSource::Column("payload".to_owned()),
        content_type: fixed("application/json"),
        headers: column("headers"),
        traceparent: column("traceparent"),
        not_before: column("available_at"),
        expires_at: fixed("2030-01-01T00:00:00Z"),
        deduplicate: Some("event_id".to_owned()),
    };
    assert_eq!(shop.mapping, mapping);
}

#[test]
fn the_imports_to_start_from_are_valid() {
    for (name, _) in import::LIKE {
        let config = parse(import::like(name).unwrap()).unwrap();
        assert_eq!(config.imports.keys().collect::<Vec<_>>(), [name]);
    }
}

#[cfg(feature = "schema")]
#[test]
fn the_example_fits_the_schema_that_editors_use() {
    let schema: serde_json::Value = serde_json::from_str(Config::schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value = |text: &str| serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(&value(Config::example()))
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    for (name, _) in import::LIKE {
        assert!(validator.is_valid(&value(import::like(name).unwrap())), "{name}");
    }
    for wrong in [
        "[relay]\nworkrs = 1",
        "[relay]\nlease = 10",
        "[destinations.a]\ntype = \"pigeon\"",
        "[destinations.a]\nurl = \"http://x\"",
        "[server.tokens]\na = { secret = \"x\" }",
        "[retention]\nsent = \"never\"",
        "[import.a]\ntable = \"t\"\norder = \"id\"\npayload = { column = \"p\" }",
        "[import.a]\ntable = \"t\"\norder = \"id\"\ntopic = \"x\"\npayload = \"p\"",
    ] {
        assert!(!validator.is_valid(&value(wrong)), "{wrong}");
    }
}
