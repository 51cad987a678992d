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
