use std::{fs, time::Duration};

use redeliver::Policy;
use redeliver_outbox::{
    config::{Config, RelaySettings},
    destination::Expects,
    import,
    store::Names,
};

use crate::{parse, tempdir};

#[test]
fn the_example_is_valid_and_says_the_defaults() {
    let config = parse(Config::example()).unwrap();
    assert_eq!(config.relay, RelaySettings::default());
    assert_eq!(config.names, Names::default());
    assert_eq!(config.database.as_deref(), Some("sqlite://redeliver.db"));
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
