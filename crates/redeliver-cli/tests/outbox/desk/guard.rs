//! Who may do what, on every route that there is.

use serde_json::Value;

use super::Desk;
use crate::bench::Folder;

const CONFIGURATION: &str = "[server]\nhosts = [\"desk.example.com\"]\n[server.tokens]\n\
    alice = { secret = \"alice-0123456789\", role = \"operate\" }\nviewer = { secret = \"viewer-0123456789\", role = \"read\" }\n";
const ALICE: &str = "Bearer alice-0123456789";
const VIEWER: &str = "Bearer viewer-0123456789";

fn guarded() -> (Folder, Desk) {
    let folder = Folder::new();
    folder.write("redeliver.toml", CONFIGURATION);
    let desk = Desk::open(&folder);
    (folder, desk)
}

/// Every route of the API's document, with an address that could be.
fn routes(desk: &Desk) -> Vec<(String, String)> {
    let document = desk.send("GET", "/api/v1/openapi.json", &[("authorization", VIEWER)], None);
    let document = document.json();
    let paths = document["paths"].as_object().unwrap();
    let mut routes = Vec::new();
    for (path, methods) in paths {
        let address = path
            .replace("{id}", "1")
            .replace("{name}", "log")
            .replace("{fingerprint}", "0123456789abcdef")
            .replace("{job}", "1");
        assert!(
            !address.contains('{'),
            "{path} has a parameter that is not known here"
        );
        for method in methods.as_object().unwrap().keys() {
            routes.push((method.to_uppercase(), address.clone()));
        }
    }
    assert!(routes.len() >= 32, "{routes:?}");
    routes
}

#[test]
fn every_route_knows_its_roles() {
    let (_folder, desk) = guarded();
    let json = ("content-type", "application/json");
    for (method, path) in routes(&desk) {
        let body = (method != "GET").then_some("{}");
        let status = |headers: &[(&str, &str)]| desk.send(&method, &path, headers, body).status;
        let route = format!("{method} {path}");
        assert_eq!(status(&[json]), 401, "{route} without a token");
        for wrong in [
            "Bearer wrong",
            "Bearer",
            "Basic YTpi",
            "Bearer alice-0123456789x",
            "alice-0123456789",
            "",
        ] {
            assert_eq!(
                status(&[json, ("authorization", wrong)]),
                401,
                "{route} with {wrong:?}"
            );
        }
        let (looked, done) = (
            status(&[json, ("authorization", VIEWER)]),
            status(&[json, ("authorization", ALICE)]),
        );
        match method.as_str() {
            "GET" => assert!(![401, 403].contains(&looked), "{route} with read: {looked}"),
            _ => assert_eq!(looked, 403, "{route} with read"),
        }
        assert!(
            ![401, 403].contains(&done) && done < 500,
            "{route} with operate: {done}"
        );
    }
}

/// Every route of the pages, as the router is written: what is added there is tried here.
fn pages() -> Vec<(&'static str, String)> {
    const SOURCE: &str = include_str!("../../../src/web/pages/mod.rs");
    let mut routes = Vec::new();
    for route in SOURCE.split(".route(").skip(1) {
        let (path, handlers) = route.split('"').nth(1).zip(route.split_once(',')).unwrap();
        let path = path
            .replace("{id}", "1")
            .replace("{name}", "log")
            .replace("{fingerprint}", "0123456789abcdef");
        assert!(
            !path.contains('{'),
            "{path} has a parameter that is not known here"
        );
        for (method, handler) in [("GET", "get("), ("POST", "post(")] {
            if handlers.1.contains(handler) {
                routes.push((method, path.clone()));
            }
        }
    }
    assert!(routes.len() >= 41, "{routes:?}");
    assert!(routes.contains(&("POST", "/messages/1/edit".to_owned())));
    routes
}

#[test]
fn every_page_and_form_knows_its_roles() {
    let (_folder, desk) = guarded();
    let form = ("content-type", "application/x-www-form-urlencoded");
    for (method, path) in pages() {
        let body = (method == "POST").then_some("why=a+test");
        let status = |headers: &[(&str, &str)]| desk.send(method, &path, headers, body).status;
        let route = format!("{method} {path}");
        // The way in is open, and whoever may look may leave, and choose how it looks.
        if path == "/login" {
            continue;
        }
        let anybody = status(&[form]);
        assert!(
            [303, 401].contains(&anybody),
            "{route} without a token: {anybody}"
        );
        let (looked, done) = (
            status(&[form, ("authorization", VIEWER)]),
            status(&[form, ("authorization", ALICE)]),
        );
        let own_affair = ["/logout", "/preferences"].contains(&path.as_str());
        match method {
            "POST" if !own_affair => assert_eq!(looked, 403, "{route} with read"),
            _ => assert!(![401, 403].contains(&looked), "{route} with read: {looked}"),
        }
        assert!(
            ![401, 403].contains(&done) && done < 500,
            "{route} with operate: {done}"
        );
    }
    for path in ["/metrics", "/api/v1/openapi.json"] {
        let status = |headers: &[(&str, &str)]| desk.send("GET", path, headers, None).status;
        assert_eq!(status(&[]), 401, "{path} without a token");
        assert_eq!(status(&[("authorization", VIEWER)]), 200, "{path} with read");
    }
}

#[test]
fn what_is_refused_is_told_as_a_problem() {
    let (_folder, desk) = guarded();
    let refused = desk.get("/api/v1/status");
    assert_eq!(refused.header("content-type"), "application/problem+json");
    assert!(refused.header("www-authenticate").starts_with("Bearer"));
    assert_eq!(refused.json()["type"], "no-token");
    let refused = desk.send(
        "POST",
        "/api/v1/destinations/log/pause",
        &[("authorization", VIEWER), ("content-type", "application/json")],
        Some("{}"),
    );
    assert_eq!(
        (refused.status, &refused.json()["type"]),
        (403, &Value::from("not-allowed"))
    );
    assert_eq!(
        refused.json()["detail"],
        "the token \"viewer\" may look, and not change anything"
    );
}

#[test]
fn health_is_open_and_pages_lead_to_the_way_in() {
    let (_folder, desk) = guarded();
    assert_eq!(desk.get("/healthz").body, "alive\n");
    desk.until("/readyz", |answer| answer.status == 200);
    let away = desk.get("/");
    assert_eq!((away.status, away.header("location")), (303, "/login"));
    assert_eq!(desk.get("/login").status, 200);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(
        desk.send("POST", "/login", &form, Some("token=wrong")).status,
        401
    );
    let entered = desk.send("POST", "/login", &form, Some("token=viewer-0123456789"));
    assert_eq!(entered.status, 303);
    let cookie = entered.header("set-cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && !cookie.contains("viewer"),
        "{cookie}"
    );
    assert_eq!(entered.header("location"), "/");
    let session = ("cookie", cookie.split(';').next().unwrap());
    assert_eq!(desk.send("GET", "/", &[session], None).status, 200);
    let body = Some("{}");
    let json = ("content-type", "application/json");
    let path = "/api/v1/destinations/log/pause";
    assert_eq!(desk.send("POST", path, &[session, json], body).status, 403);
    assert_eq!(desk.send("POST", "/logout", &[session], None).status, 303);
    assert_eq!(desk.send("GET", "/", &[session], None).status, 303);
}

#[test]
fn whoever_follows_a_link_is_led_there_once_they_are_in() {
    let (_folder, desk) = guarded();
    let away = desk.get("/messages?status=failed&q=a%20b");
    let way_in = "/login?to=%2Fmessages%3Fstatus%3Dfailed%26q%3Da%2520b";
    assert_eq!((away.status, away.header("location")), (303, way_in));
    let asked = desk.get(way_in);
    assert!(
        asked
            .body
            .contains(r#"name="to" value="/messages?status=failed&#38;q=a%20b""#),
        "{}",
        asked.body
    );
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let entered = |to: &str| {
        let fields = format!("token=viewer-0123456789&to={to}");
        let entered = desk.send("POST", "/login", &form, Some(&fields));
        assert_eq!(entered.status, 303, "{to}");
        entered.header("location").to_owned()
    };
    assert_eq!(
        entered("%2Fmessages%3Fstatus%3Dfailed%26q%3Da%2520b"),
        "/messages?status=failed&q=a%20b"
    );
    for elsewhere in [
        "%2F%2Fevil.example",
        "https%3A%2F%2Fevil.example",
        "%2F%5Cevil.example",
        "",
    ] {
        assert_eq!(entered(elsewhere), "/");
    }
    assert_eq!(desk.send("POST", "/login", &form, Some("")).status, 401);
    // What was written is not lost by signing in again.
    let late = desk.send("POST", "/messages/1/edit", &form, Some("payload=long"));
    assert!(
        late.status == 401 && late.body.contains("sign in again in another tab"),
        "{late:?}"
    );
}

#[test]
fn only_names_that_are_known_are_answered_to() {
    let (_folder, desk) = guarded();
    let named = |host: &str| {
        let headers = [("host", host), ("authorization", ALICE)];
        desk.send("GET", "/api/v1/workers", &headers, None).status
    };
    for (host, status) in [
        ("localhost:8420", 200),
        ("127.0.0.1", 200),
        ("desk.example.com", 200),
        ("DESK.example.com:444", 200),
        ("evil.example.com", 421),
        ("desk.example.com.evil.example", 421),
    ] {
        assert_eq!(named(host), status, "{host}");
    }
}

/// A page that somebody else wrote, in a browser that can reach us.
#[test]
fn a_page_of_another_site_changes_nothing() {
    let folder = Folder::new();
    let desk = Desk::open(&folder);
    let path = "/api/v1/messages";
    let body = Some(r#"{"destination":"log","json":1}"#);
    let json = ("content-type", "application/json");
    for header in [
        ("origin", "http://evil.example.com"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        assert_eq!(
            desk.send("POST", path, &[json, header], body).status,
            403,
            "{header:?}"
        );
    }
    // A form needs nobody's leave to be sent, and so is no way in.
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        assert_eq!(
            desk.send("POST", path, &[("content-type", kind)], body).status,
            415,
            "{kind}"
        );
    }
    let own = ("origin", desk.url.trim_end_matches('/'));
    assert_eq!(desk.send("POST", path, &[json, own], body).status, 201);
    assert_eq!(desk.send("POST", path, &[json], body).status, 201);
}

#[test]
fn every_answer_tells_a_browser_to_keep_to_itself() {
    let folder = Folder::new();
    let desk = Desk::open(&folder);
    for path in ["/", "/api/v1/status", "/nothing", "/healthz", "/assets/desk.css"] {
        let answer = desk.get(path);
        let policy = answer.header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
    }
    assert_eq!(desk.get("/api/v1/status").header("cache-control"), "no-store");
}
