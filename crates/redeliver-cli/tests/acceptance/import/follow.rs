use super::{audit, fill, payloads, shop};
use crate::{
    client::Client,
    database::{ALL, Database, Kind, SERVERS},
    own_server::OwnServers,
    relay::{Relay, await_that},
};

const CAUGHT_UP: &str = "everything is read, and it goes on with what comes";

#[track_caller]
fn await_payload(client: &mut Client, payload: &str) {
    await_that(&format!("the row {payload} is in the outbox"), || {
        let there = client.number(&format!(
            "SELECT count(*) FROM redeliver_outbox WHERE payload = '{payload}'"
        ));
        (there == 1).then_some(())
    });
}

#[test]
fn what_comes_later_is_taken_too() {
    for kind in ALL {
        let database = shop(kind);
        fill(&database, 1..=10);
        let mut client = database.client();
        let process = Relay::with(database.command(&["import", "shop", "--follow"]));
        process.await_words(CAUGHT_UP);
        fill(&database, 11..=200);
        await_payload(&mut client, "200");
        // Behind its back, as a transaction that took longer leaves it.
        client.run("INSERT INTO events (id, payload, dest) VALUES (0, 'late', 'api')");
        await_payload(&mut client, "late");
        // One that cannot be a message does not end it.
        client.run("INSERT INTO events (id, payload, dest) VALUES (201, NULL, 'api')");
        process.await_words("row 201: has no payload");
        fill(&database, 202..=202);
        await_payload(&mut client, "202");
        process.await_end(1);
        let mut expected: Vec<String> = (1..=202).map(|number| number.to_string()).collect();
        expected.retain(|number| number != "201");
        expected.insert(200, "late".to_owned());
        assert_eq!(payloads(&database), expected, "{kind:?}");
        let entries = audit(&database);
        let told = entries.iter().map(|entry| &entry["detail"]["inserted"]);
        assert_eq!(told.collect::<Vec<_>>(), [202, 10], "{entries:?}");
    }
}

#[test]
fn a_row_that_is_committed_late_is_not_lost() {
    for kind in SERVERS {
        let database = shop(kind);
        let process = Relay::with(database.command(&["import", "shop", "--follow"]));
        process.await_words(CAUGHT_UP);
        let (mut slow, mut quick) = (database.client(), database.client());
        slow.run("BEGIN");
        slow.run("INSERT INTO events (id, payload, dest) VALUES (1, 'slow', 'api')");
        quick.run("INSERT INTO events (id, payload, dest) VALUES (2, 'quick', 'api')");
        await_payload(&mut quick, "quick");
        assert_eq!(payloads(&database), ["quick"], "{kind:?}");
        slow.run("COMMIT");
        await_payload(&mut quick, "slow");
        process.stop();
        assert_eq!(payloads(&database), ["quick", "slow"], "{kind:?}");
    }
}

#[test]
fn a_database_that_goes_away_is_waited_for() {
    let servers = OwnServers::start();
    for kind in SERVERS {
        let (there, here) = (
            Database::on(kind, servers.address(kind)),
            Database::new(Kind::Sqlite),
        );
        let mut shop = there.client();
        shop.run("CREATE TABLE events (id bigint PRIMARY KEY, payload varchar(20))");
        shop.run("INSERT INTO events VALUES (1, 'before')");
        here.configure(&format!(
            "[import.shop]\ndatabase = \"{}\"\ntable = \"events\"\norder = \"id\"\ntopic = \"orders\"\n\
             payload = {{ column = \"payload\" }}\n",
            there.address
        ));
        let process = Relay::with(here.command(&["import", "shop", "--follow"]));
        process.await_words(CAUGHT_UP);
        servers.halt(kind);
        process.await_words("it is tried again");
        servers.resume(kind);
        there.client().run("INSERT INTO events VALUES (2, 'after')");
        await_payload(&mut here.client(), "after");
        process.stop();
        assert_eq!(payloads(&here), ["before", "after"], "{kind:?}");
    }
}
