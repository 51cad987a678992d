//! Secrets are planted wherever one can be; then everything that comes out of redeliver is searched for them.

mod commands;
mod echo;
mod mistakes;
mod planted;
mod visits;

use std::fs::File;

use rusqlite::Connection;
use serde_json::{Value, json};

use self::{
    echo::{Echo, THINGS},
    planted::Planted,
};
use super::Desk;
use crate::bench::Folder;

/// The outbox that holds them all, and the destination that tells what it is sent.
struct Scene {
    planted: Planted,
    folder: Folder,
    echo: Echo,
}

/// The variables of the environment that the configuration names, and one that goes before it.
fn variables(planted: &Planted, echo: &Echo) -> Vec<(&'static str, String)> {
    let address = echo.address;
    let (segment, query) = (planted.at("a segment of a URL"), planted.at("a URL's query"));
    vec![
        ("HOOK", format!("http://{address}/hooks/{segment}?token={query}")),
        ("ENV_HEADER", planted.at("a header from the environment")),
        ("PREFIXED", planted.at("a header with a prefix")),
        ("BEARER", planted.at("a bearer token")),
        ("PASSWORD", planted.at("a password of basic authentication")),
        ("CLIENT_SECRET", planted.at("an OAuth client's secret")),
        ("WEBHOOK", format!("whsec_{}", planted.at("a webhook's secret"))),
        (
            "PROXY",
            format!("http://shop:{}@{address}", planted.at("a proxy's password")),
        ),
        ("ALICE", planted.at("a token of the server")),
        ("GRAFANA", planted.at("another token of the server")),
        ("COLLECTOR", planted.at("a collector's header")),
        (
            "REDELIVER_DESTINATIONS__BEARER__HEADERS__X_OVERRIDE",
            planted.at("a setting from the environment"),
        ),
    ]
}

fn configuration(planted: &Planted, echo: &Echo) -> String {
    let address = echo.address;
    let literal = planted.at("a header as it stands");
    let common = format!(
        "type = \"http\"\nallow_private = true\n\
         policy = {{ base = \"1ms\", max = \"2ms\", max_attempts = {THINGS} }}\n\
         manners = {{ breaker = \"off\", surge = \"off\", retry_floor = 100000 }}\n"
    );
    let fields = "secret = [\"card.number\", \"people.*.email\"]\n";
    format!(
        "[server.tokens]\n\
         alice = {{ secret = \"$ALICE\", role = \"operate\" }}\n\
         grafana = {{ secret = \"$GRAFANA\", role = \"read\" }}\n\
         [telemetry]\notlp = \"http://{address}\"\nheaders = {{ x-collector = \"$COLLECTOR\" }}\n\
         [destinations.bearer]\n{common}{fields}url = \"$HOOK\"\nauth = {{ bearer = \"$BEARER\" }}\nwebhook = {{ secrets = [\"$WEBHOOK\"] }}\n\
         [destinations.bearer.headers]\nx-literal = \"{literal}\"\nx-env = {{ env = \"ENV_HEADER\" }}\nx-file = {{ file = \"header\" }}\n\
         x-prefix = {{ env = \"PREFIXED\", prefix = \"Key \" }}\nx-copied = \"{{{{payload.card.number}}}}\"\n\
         [destinations.basic]\n{common}secret = true\nurl = \"http://{address}/basic\"\nauth = {{ basic = {{ user = \"shop\", password = \"$PASSWORD\" }} }}\n\
         [destinations.oauth]\n{common}{fields}url = \"http://{address}/oauth\"\n\
         auth.oauth2 = {{ token_url = \"http://{address}/token\", client_id = \"shop\", client_secret = \"$CLIENT_SECRET\" }}\n\
         [destinations.proxied]\n{common}{fields}url = \"http://elsewhere.example/events\"\nproxy = \"$PROXY\"\n\
         [destinations.strict]\n{common}{fields}url = \"http://{address}/strict\"\nschema = \"schema.json\"\n\
         [destinations.shown]\ntype = \"log\"\n{fields}\
         [destinations.unseen]\ntype = \"log\"\nsecret = true\n\
         [routes]\n\"orders.*\" = [\"shown\", \"unseen\"]\n"
    )
}

impl Scene {
    fn set() -> Self {
        let planted = Planted::default();
        let echo = Echo::start(&planted.at("a token that was fetched"));
        let folder = Folder::new();
        folder.write("redeliver.toml", configuration(&planted, &echo));
        folder.write("header", format!("{}\n", planted.at("a header from a file")));
        let schema = json!({ "properties": { "card": { "properties": { "number": { "maxLength": 3 } } } } });
        folder.write("schema.json", schema.to_string());
        Self {
            planted,
            folder,
            echo,
        }
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.folder.command(arguments);
        command.envs(variables(&self.planted, &self.echo));
        command
    }

    /// Runs it, and keeps what it said.
    fn run(&self, arguments: &[&str]) -> std::process::Output {
        let output = self.command(arguments).output().unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        self.planted.heard(
            format!("redeliver {}", arguments.join(" ")),
            format!("{out}\n{err}"),
        );
        output
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// A payload with two fields that are marked, one of them with what every page escapes.
    fn payload(&self) -> Value {
        let (number, email) = (
            self.planted.at("a field that is marked"),
            self.planted.at("a field in a list"),
        );
        json!({ "order": 7, "card": { "number": format!("\"<{number}&>"), "kind": "visa" }, "people": [{ "email": format!("é\n{email}") }] })
    }

    /// One message for each destination, and an event.
    fn fill(&self) {
        let authorization = format!(
            "Authorization: Bearer {}",
            self.planted.at("a message's own header")
        );
        let cookie = format!("x-session-token: {}", self.planted.at("a message's own token"));
        let payload = self.payload().to_string();
        for to in ["bearer", "oauth", "proxied", "strict", "shown"] {
            self.done(&[
                "send",
                "--to",
                to,
                "--payload",
                &payload,
                "--header",
                &authorization,
                "--header",
                &cookie,
            ]);
        }
        let whole = json!({ "note": self.planted.at("a payload that is marked") }).to_string();
        let plain = format!("plain text {}", self.planted.at("a payload of plain text"));
        for to in ["basic", "unseen"] {
            self.done(&["send", "--to", to, "--payload", &whole]);
            self.done(&[
                "send",
                "--to",
                to,
                "--payload",
                &plain,
                "--content-type",
                "text/plain",
            ]);
        }
        self.done(&["send", "--topic", "orders.paid", "--payload", &payload]);
    }

    /// What the audit table says, but for the payload that it keeps so that an edit can be undone.
    fn audit_table(&self) {
        let database = Connection::open(self.folder.0.join("redeliver.db")).unwrap();
        let mut rows = database
            .prepare("SELECT who, why, detail FROM redeliver_audit")
            .unwrap();
        let acts = rows.query_map([], |row| {
            let (who, why, detail): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let mut detail: Value = serde_json::from_str(&detail).unwrap_or_default();
            if let Some(detail) = detail.as_object_mut() {
                detail.remove("original_payload");
            }
            Ok(format!("{who} {why} {detail}"))
        });
        let acts: Vec<String> = acts.unwrap().map(Result::unwrap).collect();
        assert!(!acts.is_empty());
        self.planted.heard("the audit table", acts.join("\n"));
    }

    /// What the tables keep of errors.
    fn errors_kept(&self) {
        let database = Connection::open(self.folder.0.join("redeliver.db")).unwrap();
        let statement = "SELECT error FROM redeliver_attempts UNION ALL SELECT coalesce(last_error, '') FROM redeliver_messages";
        let mut rows = database.prepare(statement).unwrap();
        let errors: Vec<String> = rows
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(
            errors
                .iter()
                .filter(|error| error.contains("I do not like"))
                .count()
                > 3 * THINGS,
            "{errors:#?}"
        );
        self.planted.heard("the errors in the tables", errors.join("\n"));
    }
}

#[test]
fn no_secret_comes_out_anywhere() {
    let mut scene = Scene::set();
    scene.fill();
    scene.done(&["serve", "--until-empty", "--for", "2m", "-v"]);
    scene.fill();
    let errors = scene.folder.0.join("stderr");
    let mut command = scene.command(&["serve", "--json", "-v", "--listen", "127.0.0.1:0"]);
    command.stderr(File::create(&errors).unwrap());
    let desk = Desk::with(command);
    visits::pay(&scene, &desk);
    commands::give(&scene);
    visits::pay(&scene, &desk);
    mistakes::make(&scene, &desk);
    desk.signal("-TERM");
    desk.until_said("stopped");
    scene.planted.heard("serve's standard output", desk.told());
    assert_eq!(desk.ended(), Some(0));
    scene
        .planted
        .heard("serve's standard error", std::fs::read_to_string(errors).unwrap());
    scene.audit_table();
    scene.errors_kept();
    while let Ok(spans) = scene.echo.spans.try_recv() {
        scene.planted.heard("spans", spans);
    }
    assert!(
        scene.planted.said("spans").contains("I do not like"),
        "failures are told in spans too"
    );
    let said = scene.planted.said("redeliver serve --until-empty");
    assert!(
        said.contains("visa") && said.contains("SHA-256"),
        "the log shows what is not hidden: {said}"
    );
    assert!(scene.planted.count() >= 20);
    let leaks = scene.planted.leaks();
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}
