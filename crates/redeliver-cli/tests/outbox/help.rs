use crate::bench::Folder;

#[test]
fn every_command_has_its_help_with_examples_and_exit_codes() {
    let folder = Folder::new();
    for command in [
        "serve",
        "send",
        "status",
        "list",
        "show",
        "why",
        "replay",
        "import",
        "migrate",
        "check",
        "config",
        "destination test",
        "doctor",
        "listen",
        "audit",
        "audit verify",
        "dead list",
        "dead issues",
        "dead show",
        "dead edit",
        "dead patch",
        "dead redrive",
        "dead discard",
        "dead export",
        "dead import",
        "destination list",
        "destination show",
        "destination pause",
        "destination resume",
        "destination enable",
        "lane list",
        "lane park",
        "lane resume",
        "job list",
        "job show",
        "job follow",
        "job pause",
        "job resume",
        "job cancel",
    ] {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.push("--help");
        let ran = folder.run(&words).done();
        assert!(ran.out.contains("Examples:\n  redeliver "), "{command}");
        assert!(ran.out.contains("Exit codes:"), "{command}");
        insta::assert_snapshot!(format!("help_{}", command.replace(' ', "_")), ran.out);
    }
    for group in ["dead", "destination", "lane", "job"] {
        insta::assert_snapshot!(format!("help_{group}"), folder.run(&[group, "--help"]).done().out);
    }
}

#[test]
fn help_never_shows_what_is_in_the_environment() {
    let folder = Folder::new();
    let mut command = folder.command(&["status", "--help"]);
    let output = command
        .env("REDELIVER_DATABASE", "postgres://me:secret@host/db")
        .output()
        .unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains("secret"));
}
