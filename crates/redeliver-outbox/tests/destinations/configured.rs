//! What the configuration says of the network, and what is said of mistakes in it.

use std::path::Path;

use redeliver_outbox::config::Config;

use crate::https::Identity;

/// A destination with these lines, or what is wrong with it. The environment has a certificate, its key, a proxy, and a secret that is none of
/// these.
fn parse(lines: &str) -> Result<Config, String> {
    let text = format!("[destinations.billing]\ntype = \"http\"\n{lines}\n");
    let relay = Identity::of(&["relay"]);
    let variables = |name: &str| match name {
        "CERTIFICATE" => Some(relay.certificate_pem()),
        "KEY" => Some(relay.key_pem()),
        "PROXY" => Some("http://relay:hunter2@10.0.0.1:3128".to_owned()),
        "SECRET" => Some("hunter2".to_owned()),
        _ => None,
    };
    let parsed = Config::parse(&text, Path::new("redeliver.toml"), &variables);
    parsed.map_err(|error| error.to_string())
}

fn wrong(lines: &str) -> String {
    parse(lines).unwrap_err()
}

#[test]
fn a_private_address_is_an_error_at_the_start_unless_it_is_allowed() {
    assert_eq!(
        wrong("url = \"http://10.0.0.7/hunter2\""),
        "redeliver.toml:3:7: destinations.billing.url: \"http://10.0.0.7/…\" is at 10.0.0.7, which is private (10.0.0.0/8); \
         if messages may go there, set allow_private = true on this destination"
    );
    assert!(
        wrong("url = \"http://localhost/\"\nallow_private = false")
            .contains("is this machine, which is loopback")
    );
    assert!(parse("url = \"http://10.0.0.7/\"\nallow_private = true").is_ok());
    assert_eq!(
        wrong("url = \"http://10.0.0.7/\"\nallow_private = \"yes\""),
        "redeliver.toml:4:17: destinations.billing.allow_private: must be true or false, not \"yes\""
    );
}

const URL: &str = "url = \"https://example.com/\"\n";

#[test]
fn everything_that_can_be_said_of_the_network_is_taken() {
    for lines in [
        "client_certificate = \"$CERTIFICATE\"\nclient_key = \"$KEY\"",
        "client_certificate = { env = \"CERTIFICATE\" }\nclient_key = { env = \"KEY\" }",
        "proxy = \"http://10.0.0.1:3128\"",
        "proxy = \"$PROXY\"",
        "http2 = true",
        "http2 = false\nconnect_timeout = \"3s\"",
    ] {
        let parsed = parse(&format!("{URL}{lines}"));
        assert!(parsed.is_ok(), "{lines}: {parsed:?}");
    }
}

#[test]
fn a_mistake_about_the_network_is_told_with_its_place_and_without_secrets() {
    for (lines, expected) in [
        (
            "client_certificate = \"$CERTIFICATE\"",
            "4:22: destinations.billing.client_certificate: is of no use without its client_key",
        ),
        (
            "client_certificate = \"$CERTIFICATE\"\nclient_key = \"$SECRET\"",
            "5:14: destinations.billing.client_key: is no PEM and names no file beside this one that can be read: ",
        ),
        (
            "client_certificate = \"$CERTIFICATE\"\nclient_key = \"hunter2.pem\"",
            "5:14: destinations.billing.client_key: is no PEM and names no file beside this one that can be read: ",
        ),
        (
            "client_certificate = \"$KEY\"\nclient_key = \"$KEY\"",
            "4:22: destinations.billing.client_certificate: holds no certificate; ",
        ),
        (
            "client_key = 5",
            "4:14: destinations.billing.client_key: must be text in quotes, \"$NAME\", { env = \"NAME\" } or { file = \"NAME\" }",
        ),
        (
            "proxy = \"https://relay:hunter2@proxy.example:3128\"",
            "4:9: destinations.billing.proxy: must look like http://host:port; ",
        ),
        (
            "proxy = \"http://relay:hunter2@proxy.example\"",
            "4:9: destinations.billing.proxy: \"http://proxy.example\" must name a port from 1 to 65535, ",
        ),
        (
            "http2 = \"always\"",
            "4:9: destinations.billing.http2: must be true or false, not \"always\"",
        ),
        (
            "htpp2 = true",
            "4:1: destinations.billing.htpp2: is unknown; did you mean http2? ",
        ),
    ] {
        let error = wrong(&format!("{URL}{lines}"));
        assert!(
            error.starts_with(&format!("redeliver.toml:{expected}")),
            "{error}"
        );
        assert!(
            !error.contains("hunter2") && !error.contains("PRIVATE KEY"),
            "{error}"
        );
    }
    let plain =
        wrong("url = \"http://example.com/\"\nclient_certificate = \"$CERTIFICATE\"\nclient_key = \"$KEY\"");
    assert!(
        plain
            .contains("billing.client_certificate: is shown to nobody: only a url that begins with https://"),
        "{plain}"
    );
    let both = wrong("url = \"http://example.com/\"\nproxy = \"http://proxy.example:3128\"\nhttp2 = true");
    assert!(
        both.contains("billing.http2: cannot be true with a proxy"),
        "{both}"
    );
}
