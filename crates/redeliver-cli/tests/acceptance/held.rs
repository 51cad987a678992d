//! Transactions that stay open elsewhere.

use crate::{
    database::{Database, Kind, SERVERS},
    endpoint::Endpoint,
    relay::Relay,
};

#[test]
fn long_transactions_elsewhere_hold_nothing_up_and_the_late_message_arrives() {
    for kind in SERVERS {
        let (database, endpoint) = (Database::new(kind), Endpoint::well());
        endpoint.configure(&database, "/ok", "2s");
        let insert = "INSERT INTO redeliver_outbox (destination, payload) VALUES";
        let relay = Relay::start(&database);
        let mut client = database.client();
        client.run(&format!("{insert} ('api', '1')"));
        endpoint.await_arrived(1);

        let [mut writer, mut gives_up, mut reader] = [(); 3].map(|()| database.client());
        reader.run(match kind {
            Kind::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ",
            _ => "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        });
        reader.run("SELECT count(*) FROM redeliver_outbox");
        for open in [&mut writer, &mut gives_up] {
            open.run("BEGIN");
            open.run(&format!("{insert} ('api', '2')"));
        }
        for round in 0..20 {
            let values = vec!["('api', '3')"; 50].join(", ");
            client.run(&format!("{insert} {values}"));
            endpoint.await_arrived(1 + 50 * (round + 1));
        }
        // Whoever comes later finds it too.
        relay.stop();
        let relay = Relay::start(&database);
        client.run(&format!("{insert} ('api', '4')"));
        endpoint.await_arrived(1_002);

        writer.run("COMMIT");
        gives_up.run("ROLLBACK");
        endpoint.await_arrived(1_003);
        reader.run("COMMIT");
        client.run(&format!("{insert} ('api', '5')"));
        endpoint.await_arrived(1_004);
        relay.stop();
        endpoint.assert_no_duplicate();
        assert_eq!(client.number("SELECT count(*) FROM redeliver_sent"), 1_004);
        let late = "SELECT count(*) FROM redeliver_sent WHERE payload = '2'";
        assert_eq!(
            client.number(late),
            1,
            "the one that was committed, and not the other"
        );
    }
}
