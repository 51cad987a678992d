//! Everything that a browser and a program can look at, and what they do there.

use serde_json::{Value, json};

use super::{Desk, Scene};
use crate::desk::open::Answer;

const JSON: (&str, &str) = ("content-type", "application/json");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Who asks.
struct Visitor<'a> {
    scene: &'a Scene,
    desk: &'a Desk,
    token: String,
    cookie: String,
}

pub(super) fn pay(scene: &Scene, desk: &Desk) {
    let token = format!("Bearer {}", scene.planted.at("a token of the server"));
    let cookie = enter(scene, desk);
    let visitor = Visitor {
        scene,
        desk,
        token,
        cookie,
    };
    visitor.wait();
    let messages = visitor.every_route();
    visitor.every_page(&messages);
    visitor.acts();
}

/// The cookie of somebody who signed in; and what is told to somebody who could not.
fn enter(scene: &Scene, desk: &Desk) -> String {
    let wrong = scene.planted.at("a token that is wrong");
    let refused = desk.send("POST", "/login", &[FORM], Some(&format!("token={wrong}")));
    scene.planted.heard("POST /login", format!("{refused:?}"));
    for authorization in [format!("Bearer {wrong}"), format!("Basic {wrong}"), wrong] {
        for path in ["/api/v1/messages", "/messages", "/metrics", "/nowhere"] {
            let refused = desk.send("GET", path, &[("authorization", &authorization)], None);
            scene
                .planted
                .heard(format!("GET {path} refused"), format!("{refused:?}"));
        }
    }
    let token = scene.planted.at("a token of the server");
    let mut entered = desk.send("POST", "/login", &[FORM], Some(&format!("token={token}")));
    let cookie = entered
        .header("set-cookie")
        .split(';')
        .next()
        .unwrap_or_default()
        .to_owned();
    let (_, session) = cookie.split_once('=').unwrap();
    scene.planted.known("a session", session);
    // Whoever has signed in is told the session, and nobody else ever is.
    entered.headers.remove("set-cookie");
    scene.planted.heard("POST /login", format!("{entered:?}"));
    cookie
}

impl Visitor<'_> {
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
        let answer = self.desk.send(method, path, headers, body);
        self.scene.planted.heard(
            format!("{method} {path}"),
            format!("{:?}\n{}", answer.headers, answer.body),
        );
        answer
    }

    /// Until everything has arrived or died.
    fn wait(&self) {
        let live = "/api/v1/messages?status=pending,processing,failed&limit=200";
        let asks = [("authorization", self.token.as_str())];
        let settled = || self.desk.send("GET", live, &asks, None).json()["items"] == json!([]);
        assert!((0..10_000).any(|_| settled()), "something waits for ever");
    }

    fn api(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string);
        self.ask(
            method,
            path,
            &[("authorization", &self.token), JSON],
            body.as_deref(),
        )
    }

    fn page(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("cookie", &self.cookie)], None)
    }

    /// Every route of the document that only looks, with every message, issue and job that there is.
    fn every_route(&self) -> Vec<Value> {
        let document = self.api("GET", "/api/v1/openapi.json", None).json();
        let items = |path: &str| {
            self.api("GET", path, None).json()["items"]
                .as_array()
                .unwrap()
                .clone()
        };
        let messages = items("/api/v1/messages?limit=200&payloads=true");
        let (issues, jobs) = (items("/api/v1/issues"), items("/api/v1/jobs"));
        for (path, methods) in document["paths"].as_object().unwrap() {
            if methods.get("get").is_none() {
                continue;
            }
            let (name, values): (&str, Vec<String>) = match path {
                path if path.contains("/messages/{id}") => ("{id}", texts(&messages, "number")),
                path if path.contains("{fingerprint}") => ("{fingerprint}", texts(&issues, "issue")),
                path if path.contains("{job}") => ("{job}", texts(&jobs, "id")),
                path if path.contains("{name}") => ("{name}", vec!["bearer".to_owned(), "basic".to_owned()]),
                _ => ("", vec![String::new()]),
            };
            for value in values {
                let path = if name.is_empty() {
                    path.clone()
                } else {
                    path.replace(name, &value)
                };
                assert!(
                    !path.contains('{'),
                    "{path} has a parameter that is not known here"
                );
                let answer = self.api("GET", &path, None);
                let expected = if path.ends_with("/payload") { 403 } else { 200 };
                assert_eq!(answer.status, expected, "{path}: {answer:?}");
            }
        }
        self.ask("GET", "/metrics", &[("authorization", &self.token)], None);
        messages
    }

    fn every_page(&self, messages: &[Value]) {
        for path in [
            "/",
            "/destinations",
            "/destinations/bearer",
            "/destinations/basic",
            "/messages",
            "/messages?newest=true",
            "/issues",
            "/letters/patch?to=bearer",
            "/letters/redrive?to=bearer",
            "/letters/discard?to=bearer",
            "/lanes",
            "/jobs",
            "/jobs/1",
            "/storage",
            "/storage/health",
            "/workers",
            "/audit",
            "/audit/verify",
            "/charts/flow",
            "/charts/destinations/bearer",
            "/charts/destinations/bearer/latency",
            "/nowhere",
        ] {
            self.page(path);
        }
        for issue in texts(
            &self.api("GET", "/api/v1/issues", None).json()["items"]
                .as_array()
                .unwrap()
                .clone(),
            "issue",
        ) {
            self.page(&format!("/issues/{issue}"));
        }
        for number in texts(messages, "number") {
            for rest in ["", "/payload", "/edit"] {
                self.page(&format!("/messages/{number}{rest}"));
            }
        }
    }

    /// A dead letter of each kind is changed, in every way that there is.
    fn acts(&self) {
        let newest = |to: &str| {
            let path = format!("/api/v1/messages?status=dead_lettered&destination={to}&limit=200");
            let dead = self.api("GET", &path, None).json();
            dead["items"].as_array().unwrap().last().unwrap()["number"].to_string()
        };
        let bearer = newest("bearer");
        let anew = self.scene.planted.at("a field that is given anew");
        let edit = json!({ "json": { "order": 8, "people": [{ "email": anew }] }, "why": "by the API" });
        let edited = self.api("PATCH", &format!("/api/v1/messages/{bearer}"), Some(&edit));
        assert_eq!(edited.status, 200, "{edited:?}");
        let form = |step: &str, payload: &str| format!("step={step}&payload={payload}&why=by+hand");
        let headers = [("cookie", self.cookie.as_str()), FORM];
        for to in ["bearer", "oauth", "basic"] {
            let path = format!("/messages/{}/edit", newest(to));
            let payload = "%7B%22order%22%3A9%7D";
            for step in ["preview", "save"] {
                self.ask("POST", &path, &headers, Some(&form(step, payload)));
            }
            self.page(&path.replace("/edit", ""));
        }
        for step in ["preview", "save"] {
            let patch = format!("to=bearer&step={step}&confirmed=10&patch=%7B%22order%22%3A10%7D&why=all");
            self.ask("POST", "/letters/patch", &headers, Some(&patch));
        }
        let filter = json!({ "filter": { "destination": "bearer" }, "preview": true });
        self.api("POST", "/api/v1/dead/redrive", Some(&filter));
        self.api("POST", "/api/v1/destinations/bearer/test", Some(&json!({})));
        self.api("POST", "/api/v1/destinations/basic/test", Some(&json!({})));
        self.api("GET", "/api/v1/audit?limit=200", None);
        self.page("/audit");
    }
}

fn texts(items: &[Value], field: &str) -> Vec<String> {
    let text = |item: &Value| match &item[field] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    items.iter().map(text).collect()
}
