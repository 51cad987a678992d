use super::{audit, fill, import, payloads, shop};
use crate::{
    database::{ALL, Kind},
    relay::{Relay, await_that},
};

#[test]
fn twice_is_once() {
    for kind in ALL {
        let database = shop(kind);
        fill(&database, 1..=1200);
        let ran = import(&database, &["shop", "--dry-run", "--json"]);
        assert_eq!(ran.figures(), [1200, 1200, 0, 0], "{kind:?}: {ran:?}");
        assert_eq!(payloads(&database).len(), 0);
        let ran = import(&database, &["shop", "--json", "--why", "moving"]);
        assert_eq!(
            (ran.code, ran.figures()),
            (Some(0), [1200, 1200, 0, 0]),
            "{kind:?}: {ran:?}"
        );
        fill(&database, 1201..=1210);
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(ran.figures(), [1210, 10, 1200, 0], "{kind:?}: {ran:?}");
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(ran.figures(), [1210, 0, 1210, 0], "{kind:?}: {ran:?}");
        let expected: Vec<String> = (1..=1210).map(|number| number.to_string()).collect();
        assert_eq!(payloads(&database), expected, "{kind:?}");

        // One entry for the end of each run that did something, the newest first; and one for the beginning of what takes longer.
        let mut entries = audit(&database);
        let begun = entries.pop().unwrap();
        assert_eq!(
            (&begun["detail"]["inserted"], &begun["detail"]["ended"]),
            (&500.into(), &false.into())
        );
        assert!(entries.iter().all(|entry| entry["detail"]["ended"] == true));
        let told: Vec<_> = entries
            .iter()
            .map(|entry| (&entry["who"], &entry["why"], &entry["detail"]["inserted"]))
            .collect();
        assert_eq!(told.len(), 2, "{entries:?}");
        assert_eq!((told[0].2.as_u64(), told[1].2.as_u64()), (Some(10), Some(1200)));
        assert_eq!((told[1].0, told[1].1), (&"alice".into(), &"moving".into()));
        assert_eq!(entries[0]["detail"]["up_to"], "1210");
        database.redeliver(&["audit", "verify"]);
    }
}

#[test]
fn killed_in_the_middle_it_inserts_each_once() {
    const ROWS: u32 = 20_000;
    for kind in ALL {
        let database = shop(kind);
        fill(&database, 1..=ROWS);
        let mut client = database.client();
        let mut most = 0;
        // Each time some way further.
        for wanted in [300, 700] {
            let process = Relay::with(database.command(&["import", "shop", "--batch", "20"]));
            await_that("some rows are in the outbox", || {
                let there = client.number("SELECT count(*) FROM redeliver_outbox");
                (there >= wanted).then_some(())
            });
            process.kill();
            most = client.number("SELECT count(*) FROM redeliver_outbox");
            assert!(
                most < i64::from(ROWS),
                "{kind:?}: it was done before it was killed"
            );
            let begun = &audit(&database)[0]["detail"];
            assert_eq!(begun["ended"], false, "{kind:?}: what was begun is known");
        }
        let ran = import(&database, &["shop", "--json"]);
        let [read, inserted, there_before, refused] = ran.figures();
        assert_eq!((read, refused), (u64::from(ROWS), 0), "{kind:?}: {ran:?}");
        assert_eq!(inserted + there_before, u64::from(ROWS), "{kind:?}");
        // What a server was about to commit when the process died may have come since.
        assert!(there_before >= u64::try_from(most).unwrap(), "{kind:?}: {ran:?}");
        let expected: Vec<String> = (1..=ROWS).map(|number| number.to_string()).collect();
        assert_eq!(payloads(&database), expected, "{kind:?}");
    }
}

/// After a week the keys are forgotten, and the rows would be new.
#[test]
fn what_is_no_longer_known_is_not_read_again() {
    let database = shop(Kind::Sqlite);
    fill(&database, 1..=5);
    assert_eq!(import(&database, &["shop", "--json"]).figures(), [5, 5, 0, 0]);
    let mut client = database.client();
    client.run("DELETE FROM redeliver_deduplication");
    client.run("UPDATE redeliver_audit SET detail = replace(detail, 'began_at\":\"202', 'began_at\":\"201')");
    fill(&database, 6..=7);
    let ran = import(&database, &["shop", "--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("go on behind them with --after 5"), "{ran:?}");
    let ran = import(&database, &["shop", "--json", "--after", "5"]);
    assert_eq!(ran.figures(), [2, 2, 0, 0], "{ran:?}");
    assert_eq!(payloads(&database).len(), 7);
    let ran = import(&database, &["shop", "--json", "--from-the-beginning"]);
    assert_eq!(ran.figures(), [7, 5, 2, 0], "{ran:?}");
}

/// A redrive of many writes an entry for each message, and none of them hides the import that was before.
#[test]
fn an_import_is_remembered_behind_many_other_acts() {
    for kind in ALL {
        let database = shop(kind);
        fill(&database, 1..=5);
        assert_eq!(import(&database, &["shop", "--json"]).figures(), [5, 5, 0, 0]);
        let mut client = database.client();
        client.run("DELETE FROM redeliver_deduplication");
        client.run(
            "UPDATE redeliver_audit SET detail = replace(detail, 'began_at\":\"202', 'began_at\":\"201')",
        );
        let newest = client.number("SELECT max(number) FROM redeliver_audit");
        let now = kind.time_from_now(0);
        let acts: Vec<String> = (1..=2_500)
            .map(|act| format!("({}, {now}, 'alice', 'redrive', 1, 1, '', '')", newest + act))
            .collect();
        client.run(&format!(
            "INSERT INTO redeliver_audit (number, at, who, action, message_number, message_salt, why, detail) VALUES {}",
            acts.join(", ")
        ));
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(ran.code, Some(2), "{kind:?}: {ran:?}");
        assert!(
            ran.err.contains("go on behind them with --after 5"),
            "{kind:?}: {ran:?}"
        );
    }
}
