use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::bench::{Folder, Lab, Ran};

/// An outbox with so many dead letters to `api`, which nobody knew when they were sent.
fn quarantined(count: usize) -> Folder {
    let folder = Folder::new();
    for number in 1..=count {
        let payload = format!("{{\"n\":{number}}}");
        folder.run(&["send", "--to", "api", "--payload", &payload]).done();
    }
    folder.serve();
    assert_eq!(folder.status()["dead"], count);
    folder
}

/// A relay that runs until it is dropped.
struct Relay(Child);

impl Relay {
    fn start(folder: &Folder) -> Self {
        let mut command = folder.command(&["serve"]);
        Self(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }
}

impl Relay {
    /// Lets it finish: one that is killed leaves attempts behind that were counted and not made.
    fn finish(mut self) {
        let asked = Command::new("kill")
            .args(["-TERM", &self.0.id().to_string()])
            .status();
        assert!(asked.unwrap().success());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A redrive of everything, in quick steps.
fn careful(folder: &Folder, more: &[&str]) -> Ran {
    let redrive = [
        "dead", "redrive", "--all", "--yes", "--canary", "2", "--every", "10ms",
    ];
    folder.run(&[&redrive, more].concat())
}

fn job(folder: &Folder, id: &str) -> Value {
    folder.run(&["job", "show", id, "--json"]).done().json().remove(0)
}

#[test]
fn a_job_puts_everything_back_while_it_arrives() {
    let (folder, lab) = (quarantined(12), Lab::start());
    lab.configure(&folder, "/ok");
    let relay = Relay::start(&folder);
    let ran = careful(&folder, &["--json", "--why", "it is there now"]).done();
    drop(relay);
    let steps = ran.json();
    assert_eq!(
        (&steps[0]["state"], &steps[0]["released"]),
        (&"canary".into(), &2.into())
    );
    let last = steps.last().unwrap();
    assert_eq!(
        (&last["state"], &last["delivered"], &last["waiting"]),
        (&"done".into(), &12.into(), &0.into())
    );
    assert!(
        ran.err.contains("1 to api, unknown_destination: "),
        "the preview: {}",
        ran.err
    );
    assert_eq!(folder.status()["sent"], 12);
    let kept = job(&folder, "1");
    assert_eq!(
        (&kept["state"], &kept["why"]),
        (&"done".into(), &"it is there now".into())
    );
    let acts = folder.run(&["audit", "--json"]).done().json();
    let of_the_job = |act: &&Value| act["detail"]["job"] == 1;
    assert_eq!(acts.iter().filter(of_the_job).count(), 13);
    folder.run(&["audit", "verify"]).done();
}

#[test]
fn a_job_stops_by_itself_when_they_die_again() {
    let (folder, lab) = (quarantined(12), Lab::start());
    let relay = Relay::start(&folder);
    let ran = careful(&folder, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.starts_with("job 1, stopped: 2 of 12 out, 0 arrived"),
        "{ran:?}"
    );
    assert!(ran.out.contains("stopped by itself: 2 of 2 failed"), "{ran:?}");
    assert_eq!(folder.status()["dead"], 12);
    relay.finish();
    let unsaid = folder.run(&["job", "resume", "1"]);
    assert_eq!(unsaid.code, Some(2), "{unsaid:?}");
    assert!(
        unsaid
            .err
            .contains("job 1 stopped by itself: 2 of 2 failed, more than 20 %"),
        "{unsaid:?}"
    );
    let over = folder.run(&["job", "pause", "1"]);
    assert_eq!(over.code, Some(3), "{over:?}");
    assert!(
        over.err.contains("resume it with a reason, or make a new one"),
        "{over:?}"
    );
    lab.configure(&folder, "/ok");
    let _relay = Relay::start(&folder);
    let resumed = folder
        .run(&["job", "resume", "1", "--why", "it is there now", "--json"])
        .done();
    let resumed = resumed.json().remove(0);
    assert_eq!(
        (&resumed["state"], &resumed["excused"]),
        (&"canary".into(), &2.into())
    );
    let done = folder.run(&["job", "follow", "1"]).done();
    assert!(
        done.out.starts_with("job 1, done: 12 of 12 out, 10 arrived"),
        "{done:?}"
    );
}

#[test]
fn a_discard_is_a_job_where_one_is_asked_for() {
    let folder = quarantined(5);
    let discard = ["dead", "discard", "--to", "api", "--reason", "a test", "--yes"];
    let with = |more: &[&str]| folder.run(&[&discard, more].concat());
    let made = with(&["--limit", "2", "--background", "--json"]).done();
    let made = made.json().remove(0);
    assert_eq!(
        (&made["kind"], &made["matched"], &made["why"]),
        (&"discard".into(), &2.into(), &"a test".into())
    );
    assert_eq!(folder.status()["dead"], 5, "nobody took a step yet");
    folder.run(&["job", "follow", "1"]).done();
    assert_eq!(folder.status()["dead"], 3);
    let done = with(&["--job"]).done();
    assert!(done.out.contains("job 2, done: 3 of 3 out"), "{done:?}");
    assert_eq!(folder.status()["dead"], 0);
    assert_eq!(folder.show("1")["status"], "discarded");
}

#[test]
fn a_relay_takes_the_steps_of_jobs_in_the_background() {
    let (folder, lab) = (quarantined(9), Lab::start());
    lab.configure(&folder, "/ok");
    let made = careful(&folder, &["--background", "--json"]).done().json();
    assert_eq!(
        (&made[0]["state"], &made[0]["released"]),
        (&"canary".into(), &0.into())
    );
    let served = folder.serve();
    assert!(
        served.err.contains("job 1, done: 9 of 9 out, 9 arrived"),
        "{served:?}"
    );
    assert_eq!(
        (folder.status()["sent"].clone(), folder.status()["dead"].clone()),
        (9.into(), 0.into())
    );
}

#[test]
fn an_operator_holds_a_job_and_ends_it() {
    let folder = quarantined(3);
    assert!(folder.run(&["job", "list"]).done().out.starts_with("no jobs"));
    careful(&folder, &["--background", "--limit", "2"]).done();
    let paused = folder.run(&["job", "pause", "1", "--why", "lunch"]).done();
    assert!(
        paused.out.contains("job 1, paused: 0 of 2 out") && paused.out.contains("by alice: lunch"),
        "{paused:?}"
    );
    let again = folder.run(&["job", "pause", "1"]);
    assert_eq!(again.code, Some(3), "{again:?}");
    assert!(
        again.err.contains("paused already: paused by alice: lunch"),
        "{again:?}"
    );
    let followed = folder.run(&["job", "follow", "1"]).done();
    assert!(followed.out.contains("paused"), "{followed:?}");
    folder.run(&["job", "resume", "1"]).done();
    let cancelled = folder.run(&["job", "cancel", "1", "--json"]).done().json();
    assert_eq!(cancelled[0]["state"], "cancelled");
    let listed = folder.run(&["job", "list", "--json"]).done().json();
    assert_eq!((listed.len(), &listed[0]["matched"]), (1, &2.into()));
    assert_eq!(folder.run(&["job", "show", "7"]).code, Some(3));
    for wrong in [
        &["--canary", "5000"][..],
        &["--grow", "0"],
        &["--stop-at", "2"],
        &["--every", "soon"],
    ] {
        let ran = folder.run(&[&["dead", "redrive", "--all", "--yes"], wrong].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    assert_eq!(folder.status()["dead"], 3);
}
