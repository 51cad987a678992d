//! What the configuration says of the network, and what is said of mistakes in it.

use std::path::Path;

use redeliver_outbox::config::Config;

/// A destination with these lines, or what is wrong with it.
fn parse(lines: &str) -> Result<Config, String> {
    let text = format!("[destinations.billing]\ntype = \"http\"\n{lines}\n");
    let parsed = Config::parse(&text, Path::new("redeliver.toml"), &|_| None);
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
