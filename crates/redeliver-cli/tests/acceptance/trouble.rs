//! Trouble with the database while a relay runs: it says so, waits, and goes on by itself.

use crate::{
    client::Client,
    database::{Database, Kind, SERVERS},
    endpoint::Endpoint,
    own_server::OwnServers,
    relay::{Relay, await_that},
};

fn insert(client: &mut Client, count: usize) {
    let values = vec!["('api', '1')"; count].join(", ");
    client.run(&format!(
        "INSERT INTO redeliver_outbox (destination, payload) VALUES {values}"
    ));
}

/// What was said of trouble, each kind in one line that ends with what can be done.
#[track_caller]
fn assert_clear(relay: &Relay, words: &str) {
    let said = relay.said();
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("cannot ")).collect();
    assert!(lines.iter().any(|line| line.contains(words)), "{said}");
    assert!(
        lines.len() <= 20,
        "{} lines about one trouble:\n{said}",
        lines.len()
    );
    assert!(!said.contains("panicked"), "{said}");
}

fn run_through(relay: &Relay, endpoint: &Endpoint, client: &mut Client, arrived: usize) {
    insert(client, 20);
    endpoint.await_arrived(arrived + 20);
    assert_eq!(endpoint.arrived().len(), arrived + 20, "{}", relay.said());
}

#[test]
fn a_server_that_is_restarted_is_waited_for() {
    let servers = OwnServers::start();
    for kind in SERVERS {
        let database = Database::on(kind, servers.address(kind));
        database.redeliver(&["migrate"]);
        let endpoint = Endpoint::well();
        endpoint.configure(&database, "/ok?delay=2ms", "2s");
        let relay = Relay::start(&database);
        let mut client = database.client();
        run_through(&relay, &endpoint, &mut client, 0);
        insert(&mut client, 1_000);
        servers.halt(kind);
        relay.await_words("cannot ");
        servers.resume(kind);
        let mut client = database.client();
        endpoint.await_arrived(1_020);
        run_through(&relay, &endpoint, &mut client, 1_020);
        relay.await_words("again");
        assert_clear(&relay, "check ");
        // PostgreSQL without `synchronous_commit` takes back what it was told last, and what arrived has to arrive again.
        await_that("everything is settled", || {
            (client.number("SELECT count(*) FROM redeliver_outbox") == 0).then_some(())
        });
        relay.stop();
        assert_eq!(client.number("SELECT count(*) FROM redeliver_sent"), 1_040);
    }
}

#[test]
fn a_number_that_a_server_gives_a_second_time_is_read() {
    let servers = OwnServers::start();
    for kind in SERVERS {
        let database = Database::on(kind, servers.address(kind));
        database.redeliver(&["migrate"]);
        let endpoint = Endpoint::well();
        endpoint.configure(&database, "/ok", "2s");
        let relay = Relay::start(&database);
        let mut client = database.client();
        run_through(&relay, &endpoint, &mut client, 0);
        await_that("everything is settled", || {
            (client.number("SELECT count(*) FROM redeliver_sent") == 20).then_some(())
        });
        if kind.is_mysql_or_mariadb() {
            // It tells only in whole seconds since when it runs.
            await_that("the server is not of this very second", || {
                let uptime = client.rows("SHOW GLOBAL STATUS LIKE 'Uptime'");
                (uptime[0][1].as_deref() > Some("1")).then_some(())
            });
        }
        relay.pause();
        servers.halt(kind);
        servers.resume(kind);
        let mut client = database.client();
        // As after a failover to a server that had not heard of them.
        client.run("DELETE FROM redeliver_outbox");
        client.run("DELETE FROM redeliver_sent");
        client.run("INSERT INTO redeliver_outbox (number, destination, payload) SELECT n, 'api', '1' FROM (SELECT 1 AS n UNION SELECT 2) AS again");
        relay.go_on();
        endpoint.await_arrived(22);
        relay.stop();
    }
}

#[test]
fn missing_tables_are_waited_for() {
    for kind in SERVERS {
        let (database, endpoint) = (Database::empty(kind), Endpoint::well());
        endpoint.configure(&database, "/ok", "2s");
        let relay = Relay::start(&database);
        relay.await_words("run `redeliver migrate`; the relay waits until then");
        database.redeliver(&["migrate"]);
        let mut client = database.client();
        run_through(&relay, &endpoint, &mut client, 0);
        let before = relay.said().len();
        // Dropping tables that a relay uses may end in a deadlock, which is the operator's to try again.
        await_that("the tables are gone", || {
            let mut down = database.command(&["migrate", "--down", "--yes"]);
            down.output().unwrap().status.success().then_some(())
        });
        await_that("it says that they are gone", || {
            let said = relay.said().split_off(before);
            let told = said.contains("cannot renew the lease") && said.contains("run `redeliver migrate`");
            told.then_some(())
        });
        database.redeliver(&["migrate"]);
        insert(&mut client, 20);
        await_that("it delivers again", || {
            (client.number("SELECT count(*) FROM redeliver_sent") == 20).then_some(())
        });
        assert_clear(&relay, "run `redeliver migrate`");
        relay.stop();
    }
}

#[test]
fn a_database_that_cannot_be_written_to_is_waited_for() {
    let servers = OwnServers::start();
    for kind in SERVERS {
        let database = Database::on(kind, servers.address(kind));
        database.redeliver(&["migrate"]);
        let endpoint = Endpoint::well();
        endpoint.configure(&database, "/ok", "2s");
        let (mut owner, mut client) = (database.owner(), database.client());
        let user = User::new(&database, &mut owner);
        let relay = user.relay(&database);
        run_through(&relay, &endpoint, &mut client, 0);
        let name = database.name();
        let (close, open) = match kind {
            Kind::MariaDb | Kind::MySql => (
                "SET GLOBAL read_only = 1".to_owned(),
                "SET GLOBAL read_only = 0".to_owned(),
            ),
            _ => (
                format!("ALTER DATABASE {name} SET default_transaction_read_only = on"),
                format!("ALTER DATABASE {name} RESET default_transaction_read_only"),
            ),
        };
        owner.run(&close);
        user.cut_off(&mut owner);
        relay.await_words("read-only");
        insert(&mut client, 20);
        owner.run(&open);
        endpoint.await_arrived(40);
        run_through(&relay, &endpoint, &mut client, 40);
        assert_clear(&relay, "connect to the primary server");
        relay.stop();
        assert_eq!(client.number("SELECT count(*) FROM redeliver_sent"), 60);
    }
}

#[test]
fn a_server_without_a_connection_to_spare_is_waited_for() {
    for kind in SERVERS {
        let (database, endpoint) = (Database::new(kind), Endpoint::well());
        endpoint.configure(&database, "/ok", "2s");
        let (mut owner, mut client) = (database.owner(), database.client());
        let user = User::new(&database, &mut owner);
        let relay = user.relay(&database);
        run_through(&relay, &endpoint, &mut client, 0);
        user.limit(&mut owner, 1);
        user.cut_off(&mut owner);
        let taken = await_that("the last connection is taken", || {
            user.cut_off(&mut owner);
            Client::try_open(&user.address).ok()
        });
        relay.await_words("connection");
        insert(&mut client, 20);
        drop(taken);
        user.limit(&mut owner, 100);
        endpoint.await_arrived(40);
        run_through(&relay, &endpoint, &mut client, 40);
        assert_clear(&relay, "connection");
        relay.stop();
        assert_eq!(client.number("SELECT count(*) FROM redeliver_sent"), 60);
    }
}

#[test]
fn a_file_that_is_locked_for_long_is_waited_for() {
    let (database, endpoint) = (Database::new(Kind::Sqlite), Endpoint::well());
    endpoint.configure(&database, "/ok", "2s");
    let relay = Relay::start(&database);
    let mut client = database.client();
    run_through(&relay, &endpoint, &mut client, 0);
    client.run("BEGIN EXCLUSIVE");
    insert(&mut client, 20);
    relay.await_words("cannot ");
    client.run("COMMIT");
    endpoint.await_arrived(40);
    run_through(&relay, &endpoint, &mut client, 40);
    assert_clear(&relay, "locked");
    relay.stop();
}

/// A user of the server that has no other rights than those on the database.
struct User {
    kind: Kind,
    of: String,
    name: String,
    address: String,
}

impl User {
    fn new(database: &Database, owner: &mut Client) -> Self {
        let name = format!("{}_user", database.name());
        match database.kind {
            Kind::MariaDb | Kind::MySql => {
                owner.run(&format!("CREATE USER {name}@'%'"));
                owner.run(&format!("GRANT ALL ON {}.* TO {name}@'%'", database.name()));
            }
            _ => {
                owner.run(&format!("CREATE ROLE {name} LOGIN"));
                let rights = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public";
                database.client().run(&format!(
                    "GRANT {rights} TO {name}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {name}"
                ));
            }
        }
        Self {
            kind: database.kind,
            of: database.address.clone(),
            address: database.address_for(&name),
            name,
        }
    }

    fn relay(&self, database: &Database) -> Relay {
        Relay::with(database.command(&["serve", "--database", &self.address]))
    }

    fn limit(&self, owner: &mut Client, connections: u32) {
        owner.run(&match self.kind {
            Kind::MariaDb | Kind::MySql => format!(
                "ALTER USER {}@'%' WITH MAX_USER_CONNECTIONS {connections}",
                self.name
            ),
            _ => format!("ALTER ROLE {} CONNECTION LIMIT {connections}", self.name),
        });
    }

    /// Ends all its connections.
    fn cut_off(&self, owner: &mut Client) {
        let name = &self.name;
        // One that ends by itself meanwhile is as good.
        if !self.kind.is_mysql_or_mariadb() {
            let end =
                format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{name}'");
            let _ = owner.ask(&end);
            return;
        }
        let all = format!("SELECT id FROM information_schema.processlist WHERE user = '{name}'");
        for row in owner.rows(&all) {
            let _ = owner.ask(&format!("KILL {}", row[0].as_deref().unwrap()));
        }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let (name, mut client) = (&self.name, Client::open(&self.of));
        let _ = client.ask(&match self.kind {
            Kind::MariaDb | Kind::MySql => format!("DROP USER {name}@'%'"),
            _ => format!("DROP OWNED BY {name}; DROP ROLE {name}"),
        });
    }
}
