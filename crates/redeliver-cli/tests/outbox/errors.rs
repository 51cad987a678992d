use crate::bench::{Folder, settled};

#[test]
fn every_mistake_is_one_sentence_with_the_next_step() {
    let folder = Folder::new();
    folder.write(
        "no.db",
        "this is no database, but it is long enough to be looked at as one, if anybody should try to do that",
    );
    folder.write(
        "bad.toml",
        "[destinations.api]\ntype = \"http\"\nurl = \"https://example.com\"\ntimeuot = \"5s\"\n",
    );
    folder.write(
        "secret.toml",
        "database = \"postgres://me:secret@localhost/app\"\n[destinations.api]\ntype = \"smtp\"\n",
    );
    let long = "k".repeat(10_000);
    let large = format!("@{}", folder.0.join("large").display());
    folder.write("large", "x".repeat((1 << 20) + 1));
    let send = |more: &[&'static str]| [&["send", "--to", "log", "--payload", "1"][..], more].concat();
    let mut told = Vec::new();
    for (code, arguments) in [
        (4, vec!["status"]),
        (4, vec!["list", "--database", "sqlite://elsewhere.db"]),
        (2, vec!["status", "--database", "sqlite://no/such/folder/x.db"]),
        (2, vec!["status", "--database", "sqlite://no.db"]),
        (
            2,
            vec![
                "send",
                "--to",
                "log",
                "--payload",
                "1",
                "--database",
                "oracle://me:secret@host/db",
            ],
        ),
        (2, vec!["status", "--config", "bad.toml"]),
        (2, vec!["serve", "--config", "secret.toml"]),
        (2, vec!["serve", "--config", "missing.toml"]),
        (2, vec!["send", "--payload", "1"]),
        (2, vec!["send", "--to", "log"]),
        (2, vec!["send", "--to", "", "--payload", "1"]),
        (2, vec!["send", "--to", "log", "--payload", "@nowhere.json"]),
        (2, vec!["send", "--to", "log", "--payload", &large]),
        (2, vec!["send", "--to", "log", "--payload", "1", "--key", &long]),
        (2, vec!["send", "--to", "log", "--payload", "1", "--key", "a\nb"]),
        (2, send(&["--header", "X-A: b\r\nX-C: d"])),
        (2, send(&["--header", "no colon"])),
        (2, send(&["--delay", "5"])),
        (2, vec!["show", "x"]),
        (2, vec!["list", "--status", "lost"]),
        (2, vec!["dead", "list", "--reason", "bored"]),
        (2, vec!["list", "--since", "yesterday"]),
        (2, vec!["list", "--limit", "0"]),
        (2, vec!["list", "--limit", "-1"]),
        (2, vec!["list", "--limit", "99999999999999999999"]),
        (2, vec!["list", "--payloads"]),
        (2, vec!["status", "--database", "postgres://"]),
        (2, vec!["serve", "--for", "-5s"]),
        (2, send(&["--delay", "-5s"])),
        (2, send(&["--delay", "10s", "--expires-in", "5s"])),
        (2, send(&["--header", "Host: elsewhere"])),
        (2, send(&["--header", "Idempotency-Key: mine"])),
        (2, send(&["--content-type", "text/\u{e9}"])),
        (
            2,
            vec!["dead", "import", "nowhere.jsonl", "--database", "sqlite://x.db"],
        ),
        (2, vec!["migrate", "--shards", "-1"]),
    ] {
        let ran = folder.run(&arguments);
        let shown: Vec<String> = arguments
            .iter()
            .map(|word| word.chars().take(60).collect())
            .collect();
        let line = format!(
            "{}\n  {} {}",
            shown.join(" ").escape_debug(),
            ran.code.unwrap(),
            ran.err.trim_end()
        );
        assert_eq!(ran.code, Some(code), "{line}");
        assert_eq!((ran.err.lines().count(), ran.out.as_str()), (1, ""), "{line}");
        assert!(!ran.err.contains("secret@"), "{line}");
        told.push(settled(&line, &folder));
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn the_password_in_an_address_is_never_shown() {
    let folder = Folder::new();
    // Nothing listens on port 1; a build without the store refuses the address.
    for scheme in ["postgres", "postgresql", "mysql", "mariadb"] {
        for rest in [
            "://me:secret@127.0.0.1:1/app",
            "://me:sec/ret:secret@127.0.0.1:1/app",
            ":me:secret@host",
        ] {
            let address = format!("{scheme}{rest}");
            let ran = folder.run(&["status", "--json", "--database", &address]);
            assert!(matches!(ran.code, Some(2 | 5)), "{ran:?}");
            assert!(
                ran.err.starts_with("error: ") && ran.err.lines().count() == 1,
                "{ran:?}"
            );
            assert!(!ran.err.contains("secret"), "{ran:?}");
        }
    }
}

#[test]
fn what_is_not_there_is_named() {
    let folder = Folder::new();
    folder.run(&["send", "--to", "log", "--payload", "1"]).done();
    let mut told = Vec::new();
    for arguments in [
        &["show", "7"][..],
        &["why", "00000000-0000-802a-9f86-d081884c7d65"],
        &["dead", "show", "1"],
        &["dead", "edit", "1", "--payload", "2"],
        &["dead", "redrive", "7"],
        &["dead", "discard", "1", "--reason", "x"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        told.push(format!("{}\n  {}", arguments.join(" "), ran.err.trim_end()));
    }
    let filters = vec![(r"00000000-0000-8001-[0-9a-f-]+", "ID")];
    insta::with_settings!({ filters => filters }, { insta::assert_snapshot!(told.join("\n")); });
}
