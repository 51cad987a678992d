//! Configurations that make no sense, with a secret where it does not.

use super::{Desk, Scene};

/// What is wrong with a destination, beside `S` for the secret.
const DESTINATION: [&str; 31] = [
    "url = \"ftp://S\"",
    "url = \"http://shop:S@localhost/\"",
    "url = \"http://[S/\"",
    "url = \"http://localhost/{{payload.S\"",
    "url = { env = \"HOOK\", secret = \"S\" }",
    "url = [\"S\"]",
    "headers = \"S\"",
    "headers = [\"S\"]",
    "headers = { authorization = [\"S\"] }",
    "headers = { authorization = \"S\\n\" }",
    "headers = { authorization = \"{{S\" }",
    "headers = { \"no name\" = \"S\" }",
    "headers = { authorization = \"S }",
    "headers = { authorization = S }",
    "headers = { authorization = 'S\n' }",
    "auth = \"S\"",
    "auth = { bearer = \"S\\n\" }",
    "auth = { bearer = { secret = \"S\" } }",
    "auth = { basic = \"S\" }",
    "auth = { basic = { user = \"a:b\", password = \"S\" } }",
    "auth = { basic = { password = \"S\" } }",
    "auth = { oauth2 = \"S\" }",
    "auth = { oauth2 = { token_url = \"S\", client_id = \"a\", client_secret = \"S\" } }",
    "auth = { oauth2 = { token_url = \"http://a:S@localhost/\", client_id = \"a\", client_secret = \"S\" } }",
    "webhook = { secrets = [\"S!\"] }",
    "webhook = { secrets = \"whsec_S!\" }",
    "webhook = \"S\"",
    "proxy = \"S\"",
    "proxy = \"socks5://shop:S@localhost:1\"",
    "client_certificate = \"S\"\nclient_key = \"-----BEGIN PRIVATE KEY-----\\nS\\n-----END PRIVATE KEY-----\"",
    "client_key = \"S\"",
];

/// What is wrong elsewhere.
const ELSEWHERE: [&str; 13] = [
    "database = \"oracle://shop:S@localhost/x\"",
    "database = \"postgres://shop:S@localhost:port/x\"",
    "database = \"postgres://shop:S@127.0.0.1:1/x\"",
    "database = \"mysql://shop:S@127.0.0.1:1/x\"",
    "database = \"postgres://shop@127.0.0.1:1/x?password=S\"",
    "database = [\"S\"]",
    "[server]\ntokens = \"S\"",
    "[server.tokens]\nalice = \"S\"",
    "[server.tokens]\nalice = { secret = \"S\", role = \"king\" }",
    "[server.tokens]\nalice = { secret = [\"S\"], role = \"read\" }",
    "[telemetry]\notlp = \"http://shop:S@localhost\"",
    "[telemetry]\notlp = \"http://localhost/?token=S\"",
    "[telemetry]\nheaders = \"S\"",
];

/// Variables that go before the file, and make no sense either.
const VARIABLES: [(&str, &str); 5] = [
    ("REDELIVER_DATABASE", "oracle://shop:S@localhost/x"),
    ("REDELIVER_DESTINATIONS__API__URL", "ftp://S"),
    ("REDELIVER_DESTINATIONS__API__HEADERS", "S"),
    ("REDELIVER_DESTINATIONS__API__AUTH__BEARER", "[\"S\"]"),
    ("REDELIVER_SERVER__TOKENS__ALICE", "S"),
];

const API: &str = "[destinations.api]\ntype = \"http\"\n";
const URL: &str = "url = \"http://localhost/\"\n";

pub(super) fn make(scene: &Scene, desk: &Desk) {
    let secret = scene.planted.at("a configuration that makes no sense");
    let written = |text: &str| text.replace('S', &secret);
    let broken = DESTINATION.iter().map(|wrong| {
        let url = if wrong.starts_with("url") { "" } else { URL };
        format!("{API}{url}{}", written(wrong))
    });
    for text in broken.chain(ELSEWHERE.iter().map(|wrong| written(wrong))) {
        scene.folder.write("wrong.toml", &text);
        for command in [&["status"][..], &["check", "--json"], &["serve", "--for", "1ms"]] {
            let ran = scene.run(&[command, &["--config", "wrong.toml"]].concat());
            assert!(!ran.status.success(), "{command:?} takes {text}");
        }
    }
    scene.folder.write("right.toml", format!("{API}{URL}"));
    for (name, value) in VARIABLES {
        let mut command = scene.folder.command(&["status", "--config", "right.toml"]);
        let ran = command.env(name, written(value)).output().unwrap();
        assert!(!ran.status.success(), "{name}={value} is taken");
        scene.planted.heard(name, String::from_utf8_lossy(&ran.stderr));
    }
    flags(scene);
    let before = std::fs::read(scene.folder.0.join("redeliver.toml")).unwrap();
    for wrong in [
        "headers = { authorization = \"S }",
        "auth = \"S\"",
        "proxy = \"S\"",
    ] {
        scene
            .folder
            .write("redeliver.toml", format!("{API}{URL}{}", written(wrong)));
        desk.signal("-HUP");
        desk.until_said("not_reloaded");
    }
    scene.folder.write("redeliver.toml", before);
    desk.signal("-HUP");
    desk.until_said("reloaded");
}

/// A database with a password, named on the command line, that cannot be had.
fn flags(scene: &Scene) {
    let password = scene.planted.at("a database's password");
    for address in [
        format!("postgres://shop:{password}@127.0.0.1:1/x"),
        format!("mysql://shop:{password}@127.0.0.1:1/x"),
        format!("oracle://shop:{password}@127.0.0.1:1/x"),
        format!("postgres://shop:{password}@"),
        format!("host=h user=shop password={password}"),
        format!("Server=h;Password={password}"),
        format!("sqlite://x.db?key={password}"),
        format!("sqlite:postgres://shop:{password}@h/x"),
    ] {
        for command in [
            &["status"][..],
            &["doctor"],
            &["check"],
            &["migrate"],
            &["audit"],
            &["list", "--json"],
        ] {
            let ran = scene.run(&[command, &["--database", &address]].concat());
            assert!(!ran.status.success(), "{command:?} takes {address}");
        }
    }
}
