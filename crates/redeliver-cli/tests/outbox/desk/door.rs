//! Where the desk is open, and where it is not.

use std::net::TcpListener;

use super::Desk;
use crate::bench::Folder;

#[test]
fn other_machines_are_let_in_only_with_a_token() {
    let folder = Folder::new();
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let ran = folder.run(&["serve", "--listen", listen]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("[server.tokens]"), "{ran:?}");
    }
    folder.write(
        "redeliver.toml",
        "[server]\nlisten = \"0.0.0.0:0\"\n[server.tokens]\na = { secret = \"0123456789abcdef\", role = \"read\" }\n",
    );
    let mut command = folder.command(&["serve", "--json"]);
    command.env_remove("REDELIVER_LISTEN");
    let desk = Desk::with(command);
    assert!(desk.url.starts_with("http://localhost:"), "{}", desk.url);
    assert_eq!(desk.get("/healthz").status, 200);
    assert_eq!(desk.get("/api/v1/status").status, 401);
}

#[test]
fn an_address_that_was_asked_for_must_be_had() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = folder.run(&["serve", "--listen", &address]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains(&address) && ran.err.contains("--listen"),
        "{ran:?}"
    );
    let ran = folder.run(&["serve", "--listen", "here"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("127.0.0.1:8420"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_desk_closes_although_a_browser_keeps_its_connection() {
    let folder = Folder::new();
    let desk = Desk::open(&folder);
    assert_eq!(desk.get("/api/v1/status").status, 200);
    desk.signal("-TERM");
    assert_eq!(desk.ended(), Some(0));
}

/// Whoever watches the process must not end it because its database is away, nor send anybody to it.
#[cfg(unix)]
#[test]
fn a_process_lives_while_its_database_is_waited_for() {
    const ONE: &str = "[destinations.one]\ntype = \"log\"\n";
    let folder = Folder::new();
    // Nobody listens at a port that was just given back.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    folder.write(
        "redeliver.toml",
        format!("database = \"mysql://nobody@127.0.0.1:{port}/none\"\n{ONE}"),
    );
    let desk = Desk::open(&folder);
    desk.until_said("waiting");
    assert_eq!(desk.get("/healthz").body, "alive\n");
    for path in ["/readyz", "/", "/api/v1/status", "/metrics"] {
        let answer = desk.get(path);
        assert_eq!(answer.status, 503, "{path}: {answer:?}");
        assert!(answer.body.contains("is not there yet"), "{path}: {answer:?}");
    }
    folder.write("redeliver.toml", "");
    desk.signal("-HUP");
    desk.until_said("not_reloaded");
    // The address was wrong, and is mended without another start.
    folder.write(
        "redeliver.toml",
        format!("database = \"sqlite://there.db\"\n[server]\nlisten = \"off\"\n{ONE}"),
    );
    desk.signal("-HUP");
    let told = desk.until_said("reloaded");
    assert_eq!(told["needs_restart"], serde_json::json!(["server.listen"]));
    assert_eq!(desk.until_said("started")["database"], "sqlite://there.db");
    desk.until("/readyz", |answer| answer.status == 200);
    desk.until("/api/v1/status", |answer| answer.status == 200);
    desk.signal("-TERM");
    assert_eq!(desk.ended(), Some(0));
}
