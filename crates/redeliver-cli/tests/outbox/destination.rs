use crate::{
    bench::{Folder, Lab},
    look::snapshot,
};

const WHY: &str = "the receiver is being moved";

#[test]
fn a_pause_is_told_wherever_somebody_looks() {
    let folder = Folder::new();
    folder
        .run(&["send", "--to", "log", "--payload", "{\"n\":1}"])
        .done();
    snapshot(
        "destination_list_idle",
        &folder.run(&["destination", "list"]).done().out,
    );
    for (name, arguments) in [
        (
            "destination_pause",
            &["destination", "pause", "log", "--why", WHY][..],
        ),
        (
            "destination_pause_again",
            &["destination", "pause", "log", "--as", "bob"],
        ),
        ("destination_list_paused", &["destination", "list"]),
        ("destination_show_paused", &["destination", "show", "log"]),
        ("destination_status", &["status"]),
        ("destination_why", &["why", "1"]),
        ("destination_message", &["show", "1"]),
        ("destination_resume", &["destination", "resume", "log"]),
        ("destination_resume_again", &["destination", "resume", "log"]),
        ("destination_audit", &["audit"]),
    ] {
        snapshot(name, &folder.run(arguments).done().out);
    }
}

#[test]
fn nothing_is_sent_to_a_paused_destination_and_serve_ends_without_it() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/ok");
    folder.run(&["migrate"]).done();
    folder.run(&["destination", "pause", "api", "--why", WHY]).done();
    for _ in 0..5 {
        folder.run(&["send", "--to", "api", "--payload", "1"]).done();
    }
    let served = folder.serve();
    assert_eq!(lab.server.stats().requests, 0);
    assert!(
        served
            .err
            .contains("messages left for destinations that are held: 5, for api"),
        "{}",
        served.err
    );
    let hold = &folder.status()["holds"][0];
    assert_eq!(
        (&hold["destination"], &hold["who"]),
        (&"api".into(), &"alice".into())
    );
    folder.run(&["destination", "resume", "api"]).done();
    folder.serve();
    assert_eq!(lab.server.stats().requests, 5);
    assert_eq!(folder.status()["sent"], 5);
}

#[test]
fn one_that_is_gone_is_disabled_until_it_is_enabled() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/status/410");
    for _ in 0..3 {
        folder.run(&["send", "--to", "api", "--payload", "1"]).done();
    }
    folder.serve();
    let listed = folder.run(&["destination", "list", "--json"]).done().json();
    let api = listed
        .iter()
        .find(|destination| destination["destination"] == "api")
        .unwrap();
    assert_eq!(
        (&api["state"], &api["hold"]["cause"]),
        (&"disabled".into(), &"gone".into())
    );
    assert!(
        api["hold"]["detail"].as_str().unwrap().contains("410 Gone"),
        "{api}"
    );
    let messages = folder.run(&["list", "--json"]).done().json();
    assert!(
        messages
            .iter()
            .all(|message| message["attempts"] == 0 && message["dead_letter_reason"].is_null())
    );
    let why = folder.run(&["why", "1"]).done().out;
    assert!(why.contains("redeliver destination enable api"), "{why}");

    lab.configure(&folder, "/ok");
    let enabled = folder
        .run(&["destination", "enable", "api", "--json"])
        .done()
        .json();
    assert_eq!(enabled[0]["resumed"], true);
    folder.serve();
    assert_eq!(folder.status()["sent"], 3);
}

#[test]
fn one_that_rejects_everything_alike_is_paused_before_all_is_dead() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/status/401");
    let lines = "{\"payload\":\"1\"}\n".repeat(300);
    folder
        .feed(&["send", "--to", "api", "--lines", "-"], lines.as_bytes())
        .done();
    folder.serve();
    let status = folder.status();
    let dead = status["dead"].as_u64().unwrap();
    assert!((40..=72).contains(&dead), "{dead} of 300 are dead");
    assert_eq!(status["holds"][0]["cause"], "surge");
    let detail = status["holds"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("401 Unauthorized"), "{detail}");
}

#[test]
fn a_name_that_nobody_knows_has_to_be_meant() {
    let folder = Folder::new();
    folder.run(&["migrate"]).done();
    for arguments in [
        &["destination", "pause", "bililng"][..],
        &["destination", "resume", "bililng"],
        &["destination", "enable", "bililng"],
        &["destination", "show", "bililng"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.err.contains("no destination bililng"), "{ran:?}");
    }
    folder
        .run(&["destination", "pause", "bililng", "--unknown"])
        .done();
    let shown = folder
        .run(&["destination", "show", "bililng", "--json"])
        .done()
        .json();
    assert_eq!(
        (&shown[0]["configured"], &shown[0]["state"]),
        (&false.into(), &"paused".into())
    );
    let ran = folder.run(&["destination", "pause", "", "--unknown"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
