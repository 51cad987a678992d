use crate::{
    bench::{Folder, Lab},
    look::snapshot,
};

const WHY: &str = "their shop is being moved";

#[test]
fn a_parked_lane_is_told_wherever_somebody_looks() {
    let folder = Folder::new();
    for _ in 0..2 {
        folder
            .run(&["send", "--to", "log", "--key", "customer-7", "--payload", "{}"])
            .done();
    }
    for (name, arguments) in [
        ("lane_list_none", &["lane", "list"][..]),
        ("lane_park", &["lane", "park", "log", "customer-7", "--why", WHY]),
        (
            "lane_park_again",
            &["lane", "park", "log", "customer-7", "--as", "bob"],
        ),
        ("lane_list", &["lane", "list"]),
        ("lane_why", &["why", "1"]),
        ("lane_message", &["show", "2"]),
        ("lane_status", &["status"]),
        ("lane_resume", &["lane", "resume", "log", "customer-7"]),
        ("lane_resume_again", &["lane", "resume", "log", "customer-7"]),
        ("lane_audit", &["audit"]),
    ] {
        snapshot(name, &folder.run(arguments).done().out);
    }
}

#[test]
fn a_lane_with_nothing_live_cannot_be_parked() {
    let folder = Folder::new();
    folder.run(&["migrate"]).done();
    let refused = folder.run(&["lane", "park", "log", "customer-7"]);
    assert!(
        refused
            .err
            .contains("there is no live message with the key 'customer-7' to 'log'"),
        "{}",
        refused.err
    );
}

#[test]
fn nothing_of_a_parked_lane_is_sent_and_it_goes_on_in_order() {
    let (folder, lab) = (Folder::new(), Lab::start());
    lab.configure(&folder, "/ok");
    for key in ["a", "b", "a", "b"] {
        folder
            .run(&["send", "--to", "api", "--key", key, "--payload", "1"])
            .done();
    }
    let parked = folder.run(&["lane", "park", "api", "a", "--why", WHY, "--json"]);
    assert_eq!(parked.done().json()[0]["new"], true);
    folder.serve();
    assert_eq!(lab.server.stats().requests, 2);
    let left = folder.run(&["lane", "list", "--json"]).done().json();
    assert_eq!(
        (&left[0]["standing"], &left[0]["depth"], &left[0]["who"]),
        (&"held".into(), &2.into(), &"alice".into())
    );
    let resumed = folder
        .run(&["lane", "resume", "api", "a", "--json"])
        .done()
        .json();
    assert_eq!(
        (&resumed[0]["resumed"], &resumed[0]["hold"]["why"]),
        (&true.into(), &WHY.into())
    );
    folder.serve();
    assert_eq!(lab.server.stats().requests, 4);
    assert_eq!(folder.status()["sent"], 4);
}
