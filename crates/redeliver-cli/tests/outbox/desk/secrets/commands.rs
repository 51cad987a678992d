//! Every command, in words and in JSON.

use serde_json::Value;

use super::Scene;

pub(super) fn give(scene: &Scene) {
    let listed = scene.run(&["list", "--json", "--payloads", "--limit", "200"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let messages: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(messages.len() > 15, "{}", messages.len());
    for message in &messages {
        let number = message["number"].to_string();
        for arguments in [
            &["show", &number][..],
            &["why", &number],
            &["dead", "show", &number],
        ] {
            both(scene, arguments);
        }
        scene.run(&["show", &number, "--raw"]);
    }
    for arguments in [
        &["list"][..],
        &["status"],
        &["dead", "list"],
        &["dead", "issues"],
        &["dead", "export"],
        &["destination", "list"],
        &["destination", "show", "bearer"],
        &["destination", "show", "basic"],
        &["destination", "test", "bearer"],
        &["destination", "test", "basic"],
        &["destination", "test", "oauth"],
        &["destination", "test", "proxied"],
        &["job", "list"],
        &["check"],
        &["check", "--send"],
        &["doctor"],
        &["audit"],
        &["audit", "verify"],
        &["migrate"],
    ] {
        both(scene, arguments);
    }
    scene.run(&["dead", "list", "--json", "--payloads"]);
    scene.run(&["migrate", "--print"]);
    let payload = scene.payload().to_string();
    for to in ["bearer", "basic", "oauth", "proxied"] {
        let tells_the_body = ["--header", "redeliver-tell: body"];
        both(
            scene,
            &[
                &["destination", "test", to, "--payload", &payload][..],
                &tells_the_body,
            ]
            .concat(),
        );
    }
    changes(scene, &messages);
}

/// A dead letter of each destination is changed, put back and given up.
fn changes(scene: &Scene, messages: &[Value]) {
    for to in ["bearer", "basic", "oauth", "strict"] {
        let dead = |message: &&Value| message["destination"] == to && message["status"] == "dead_lettered";
        let Some(message) = messages.iter().rfind(dead) else {
            panic!("nothing died on its way to {to}");
        };
        let number = message["number"].to_string();
        let edit = [
            "dead",
            "edit",
            &number,
            "--payload",
            r#"{"order":11}"#,
            "--why",
            "by command",
        ];
        scene.done(&edit);
        both(scene, &["show", &number]);
        let marked = message["payload"].as_str().unwrap();
        let refused = scene.run(&["dead", "edit", &number, "--payload", marked]);
        assert_eq!(
            refused.status.code(),
            Some(2),
            "what is shown is not what it is: {marked}"
        );
        let mut editing = scene.command(&["dead", "edit", &number]);
        // An editor that shows what it was given, and changes nothing.
        let output = editing.env("EDITOR", "cat").output().unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        scene.planted.heard("an editor", format!("{out}\n{err}"));
    }
    both(scene, &["dead", "redrive", "--to", "strict", "--yes"]);
    both(scene, &["audit", "--limit", "1000"]);
    export(scene);
}

/// Nothing that is marked leaves the outbox, unless somebody says so, which is on record.
fn export(scene: &Scene) {
    assert_eq!(scene.run(&["dead", "export"]).status.code(), Some(2));
    let revealing = ["dead", "export", "--to", "bearer", "--reveal", "--why", "a move"];
    let revealed = scene.command(&revealing).output().unwrap();
    let revealed = String::from_utf8(revealed.stdout).unwrap();
    for place in ["a field that is marked", "a message's own header"] {
        assert!(
            revealed.contains(&scene.planted.at(place)),
            "{place} is still there"
        );
    }
    let audit = scene.run(&["audit", "--json"]);
    assert!(
        String::from_utf8(audit.stdout)
            .unwrap()
            .contains(r#""action":"reveal""#)
    );
}

fn both(scene: &Scene, arguments: &[&str]) {
    scene.run(arguments);
    scene.run(&[arguments, &["--json"]].concat());
}
