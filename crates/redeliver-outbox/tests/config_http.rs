//! What the configuration says of the requests of an HTTP destination, and what is said of mistakes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

use std::{fs, path::Path};

use redeliver_outbox::config::{Config, ConfigError};

const SECRET: &str = "hunter2";
const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A destination that says this besides its type and its URL.
fn parse(settings: &str) -> Result<Config, ConfigError> {
    parse_in(Path::new("redeliver.toml"), settings)
}

fn parse_in(file: &Path, settings: &str) -> Result<Config, ConfigError> {
    let url = match settings.lines().any(|line| line.starts_with("url = ")) {
        true => "",
        false => "url = \"https://example.com/events\"\n",
    };
    let text = format!("[destinations.shop]\ntype = \"http\"\n{url}{settings}");
    let variables = |name: &str| match name {
        "TOKEN" => Some(SECRET.to_owned()),
        "WHSEC" => Some(WHSEC.to_owned()),
        _ => None,
    };
    Config::parse(&text, file, &variables)
}

/// Each is refused with these words, at a place in the file, and without the secret.
fn refused(cases: &[(&str, &str)]) {
    for (settings, words) in cases {
        let error = parse(settings).unwrap_err();
        assert!(error.place.is_some(), "{settings}: {error}");
        let error = error.to_string();
        assert!(error.contains(words), "{settings}: {error}");
        assert!(
            !error.contains(SECRET) && !error.contains('\n'),
            "{settings}: {error}"
        );
    }
}

/// Each is understood, and shows no secret.
fn taken(cases: &[&str]) {
    for settings in cases {
        let config = parse(settings).unwrap_or_else(|error| panic!("{settings}: {error}"));
        let shown = format!("{config:?}");
        assert!(!shown.contains(SECRET) && !shown.contains(&WHSEC[6..]), "{shown}");
    }
}

#[test]
fn secrets_of_webhooks() {
    taken(&[
        r#"webhook = { secrets = "$WHSEC" }"#,
        r#"webhook.secrets = ["$WHSEC", { env = "WHSEC" }, "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc="]"#,
    ]);
    refused(&[
        ("webhook = \"hunter2\"", "shop.webhook: must be a table"),
        ("webhook = {}", "shop.webhook.secrets: is missing"),
        ("webhook = { secrets = [] }", "must hold at least one secret"),
        (
            "webhook = { secrets = [7] }",
            "must be text in quotes, \"$NAME\", { env = \"NAME\" } or { file = \"NAME\" }",
        ),
        (
            "webhook = { secrets = \"hunter2\" }",
            "shop.webhook: secret 1 must begin with whsec_",
        ),
        (
            "webhook = { secrets = [\"$WHSEC\", \"$TOKEN\"] }",
            "secret 2 must begin with whsec_",
        ),
        ("webhook = { secrets = [\"$MISSING\"] }", "MISSING is not set"),
        ("webhook = { secret = \"hunter2\" }", "did you mean secrets?"),
        (
            "webhook = { secrets = [\"$WHSEC\"] }\nheaders = { Webhook-Id = \"hunter2\" }",
            "shop.headers: the header webhook-id is set by the relay",
        ),
    ]);
}

#[test]
fn a_secret_may_be_in_a_file_beside_this_one() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("secrets-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("redeliver.toml");
    fs::write(directory.join("webhook.secret"), format!("{WHSEC}\r\n")).unwrap();
    fs::write(directory.join("token"), "\nhunter2").unwrap();
    fs::write(directory.join("bytes"), [0xff]).unwrap();
    let parse = |settings: &str| parse_in(&file, settings).map_err(|error| error.to_string());
    parse(r#"webhook.secrets = [{ file = "webhook.secret" }]"#).unwrap();
    for (settings, words) in [
        (r#"headers = { a = { file = "nowhere" } }"#, "cannot be read"),
        (r#"headers = { a = { file = "bytes" } }"#, "no text"),
        (
            r#"headers = { a = { file = "token" } }"#,
            "value of a holds a character",
        ),
        (
            r#"headers = { a = { file = "token", env = "TOKEN" } }"#,
            "leave one of them out",
        ),
    ] {
        let error = parse(settings).unwrap_err();
        assert!(error.contains(words) && !error.contains(SECRET), "{error}");
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn templates() {
    taken(&[
        "method = \"PUT\"\nurl = \"https://example.com/{{key}}?a={{payload.b}}\"",
        "headers = { x-id = \"{{id}}\", x-braces = \"{{{{\" }",
        "body = '{\"id\":{{id}},\"text\":\"{{payload.text}}\"}'",
        "body = 'text={{payload.text}}'\nheaders = { Content-Type = \"application/x-www-form-urlencoded\" }",
    ]);
    refused(&[
        (
            "method = \"GET\"",
            "shop.method: must be one of POST, PUT, PATCH, DELETE, not \"GET\"",
        ),
        (
            "url = \"https://example.com/hunter2/{{kye}}\"",
            "shop.url: at character 29: {{kye}} is unknown; allowed are {{id}}, {{key}},",
        ),
        (
            "url = \"https://example.com/{{key/hunter2\"",
            "shop.url: at character 21: {{ is not closed by }}",
        ),
        (
            "url = \"https://{{key}}.example.com/hunter2\"",
            "shop.url: a message must not choose the host",
        ),
        (
            "url = \"https://user:hunter2@example.com/{{key}}\"",
            "must not contain a user or a password",
        ),
        (
            "url = \"ftp://example.com/{{key}}\"",
            "must start with http:// or https://",
        ),
        (
            "headers = { x = \"hunter2 {{}}\" }",
            "shop.headers: the value of x, at character 9: {{}} is unknown",
        ),
        (
            "headers = { x = \"\\n{{id}}\" }",
            "the value of x holds a character that no header may",
        ),
        (
            "headers = { host = \"{{key}}\" }",
            "the header host is set by the connection",
        ),
        (
            "headers = { idempotency-key = \"{{key}}\" }",
            "the header idempotency-key is set by the relay",
        ),
        (
            "body = '{\"a\":{{id}}'",
            "shop.body: is no JSON with values in it",
        ),
        (
            "body = '{{payload.a'",
            "shop.body: at character 1: {{ is not closed by }}",
        ),
        ("body = 7", "shop.body: must be text in quotes"),
        (
            "body = '{{payload.a}}'\nheaders = { content-type = \"{{payload.b}}\" }",
            "shop.body: cannot be read while the header content-type is a template",
        ),
    ]);
}

#[test]
fn proofs_of_who_we_are() {
    let oauth2 = |rest: &str| {
        format!(
            "auth.oauth2 = {{ token_url = \"https://login.example.com/{SECRET}\", client_id = \"shop\", {rest} }}"
        )
    };
    taken(&[
        r#"auth = { bearer = "$TOKEN" }"#,
        r#"auth = { basic = { user = "shop", password = { env = "TOKEN" } } }"#,
        &oauth2(r#"client_secret = "$TOKEN", scope = "a b", audience = "https://example.com""#),
    ]);
    refused(&[
        ("auth = \"hunter2\"", "shop.auth: must be a table"),
        ("auth = {}", "shop.auth: must hold one of bearer, basic, oauth2"),
        (
            "auth = { bearer = \"hunter2\", basic = { user = \"a\", password = \"hunter2\" } }",
            "must hold one of bearer, basic, oauth2",
        ),
        ("auth = { baerer = \"hunter2\" }", "did you mean bearer?"),
        (
            "auth = { bearer = \"hunter2 hunter2\" }",
            "shop.auth: the bearer token",
        ),
        (
            "auth = { basic = { user = \"hunter2\" } }",
            "shop.auth.basic.password: is missing",
        ),
        (
            "auth = { basic = \"hunter2\" }",
            "shop.auth.basic: must be a table",
        ),
        (
            &oauth2("scope = \"a\""),
            "shop.auth.oauth2.client_secret: is missing",
        ),
        (
            &oauth2("client_secret = \"\""),
            "shop.auth: client_id and client_secret must not be empty",
        ),
        (
            &oauth2("client_secret = \"a\", secret = \"hunter2\""),
            "oauth2.secret: is unknown; allowed are token_url",
        ),
        (
            "auth = { bearer = \"hunter2\" }\nheaders = { Authorization = \"hunter2\" }",
            "shop.headers: authorization is set by auth",
        ),
    ]);
}

#[test]
fn cloudevents() {
    taken(&[
        r#"cloudevents = { mode = "binary", source = "https://shop.example/{{key}}", type = "order.{{payload.kind}}" }"#,
        "cloudevents = { mode = \"binary\", source = \"/shop\", type = \"order\" }\nheaders = { content-type = \"text/plain\" }",
        r#"cloudevents = { mode = "structured", source = "urn:shop:eu", type = "order" }"#,
        r#"cloudevents = { mode = "structured", source = "/shop" }"#,
    ]);
    let events = |mode: &str, source: &str, kind: &str| {
        format!("cloudevents = {{ mode = \"{mode}\", source = \"{source}\", type = \"{kind}\" }}")
    };
    let structured = events("structured", "/shop", "order");
    let binary = events("binary", "/shop", "order");
    refused(&[
        ("cloudevents = \"binary\"", "shop.cloudevents: must be a table"),
        (
            "cloudevents = { mode = \"binary\", type = \"a\" }",
            "shop.cloudevents.source: is missing",
        ),
        (
            &events("text", "/", "a"),
            "must be one of structured, binary, not \"text\"",
        ),
        (
            &events("binary", "", "a"),
            "source must be a URI or a part of one",
        ),
        (
            &events("binary", "a b", "a"),
            "source must be a URI or a part of one",
        ),
        (
            &events("binary", "a%zz", "a"),
            "source must be a URI or a part of one",
        ),
        (&events("binary", "/", ""), "type must not be empty"),
        (
            &events("binary", "/", "a\\n"),
            "type must not be empty nor hold control characters",
        ),
        (
            &events("binary", "/{{kye}}", "a"),
            "source, at character 2: {{kye}} is unknown",
        ),
        (
            &events("binary", "/", "{{kye}}"),
            "type, at character 1: {{kye}} is unknown",
        ),
        (
            &format!("{binary}\nbody = '{{}}'"),
            "shop.body: is made by cloudevents",
        ),
        (
            &format!("{binary}\nheaders = {{ Ce-Id = \"hunter2\" }}"),
            "the header ce-id is set by the relay",
        ),
        (
            &format!("{structured}\nheaders = {{ content-type = \"hunter2\" }}"),
            "content-type is set by cloudevents",
        ),
    ]);
}
