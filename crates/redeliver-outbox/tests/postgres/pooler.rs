//! Behind a pooler that gives every transaction another server connection.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use redeliver_outbox::{
    desk::{Layout, Schema as _},
    store::{PostgresOptions, PostgresStore, Store as _},
};

use crate::database::{Database, beat, delivered, insert, read, scalar, worker};

struct Pooler {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl Pooler {
    /// pgbouncer before the database, with two server connections for everybody.
    async fn before(database: &Database) -> Self {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        drop(socket);
        let config: tokio_postgres::Config = database.url.parse().unwrap();
        let user = config.get_user().unwrap().to_owned();
        let tokio_postgres::config::Host::Tcp(host) = &config.get_hosts()[0] else {
            panic!("REDELIVER_TEST_POSTGRES has to name a host");
        };
        let server_port = config.get_ports().first().copied().unwrap_or(5432);
        let password = config
            .get_password()
            .map(|password| String::from_utf8(password.to_owned()).unwrap());
        let folder = std::env::temp_dir().join(format!("redeliver-pooler-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let users = folder.join("users.txt");
        std::fs::write(
            &users,
            format!("\"{user}\" \"{}\"\n", password.unwrap_or_default()),
        )
        .unwrap();
        let file = folder.join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={host} port={server_port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 2\nserver_round_robin = 1\nlogfile = {}\n",
            users.display(),
            folder.join("log").display()
        );
        // `any` takes everybody for one user, whom the entry of the database has to name.
        let text = text.replace("* = host", &format!("* = user={user} host"));
        std::fs::write(&file, text).unwrap();
        let process = start(&file, &folder);
        let pooler = Self {
            process,
            folder,
            port,
        };
        pooler.wait().await;
        pooler
    }

    async fn wait(&self) {
        for _ in 0..2_000 {
            if tokio::net::TcpStream::connect(("127.0.0.1", self.port))
                .await
                .is_ok()
            {
                return;
            }
            redeliver::clock::sleep(Duration::from_millis(5)).await;
        }
        panic!(
            "pgbouncer did not start: {:?}",
            std::fs::read_to_string(self.folder.join("log"))
        );
    }
}

/// It refuses to run as root.
fn start(file: &Path, folder: &Path) -> Child {
    let root =
        std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let mut command = if root {
        let owned = Command::new("chown")
            .args(["-R", "postgres"])
            .arg(folder)
            .status()
            .unwrap();
        assert!(owned.success());
        let mut command = Command::new("setpriv");
        command.args([
            "--clear-groups",
            "--reuid=postgres",
            "--regid=postgres",
            "pgbouncer",
        ]);
        command
    } else {
        Command::new("pgbouncer")
    };
    command
        .arg("-q")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("pgbouncer is needed for this test (package pgbouncer): {error}"))
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_through_a_transaction_pooler() {
    let database = Database::new().await;
    let pooler = Pooler::before(&database).await;
    let url = format!(
        "postgres://postgres@127.0.0.1:{}/{}",
        pooler.port,
        database.name()
    );
    let store = PostgresStore::new(&url, PostgresOptions::default()).unwrap();
    store.migrate(Layout { shards: 4 }, None).await.unwrap();
    let client = database.client().await;
    for turn in 0..120 {
        insert(&client, Some(&format!("k{}", turn % 10)), "{}").await;
    }
    beat(&store, "a", Duration::from_secs(3600)).await;
    beat(&store, "b", Duration::from_secs(3600)).await;
    let run = |name: &'static str| {
        let store = store.clone();
        async move {
            let leases = store.claim(&worker(name), 2, 10).await.unwrap();
            let mut reader = store.reader();
            leases.iter().for_each(|claimed| reader.own(claimed.lease));
            let mut done = 0;
            loop {
                let found = reader.read(&crate::database::room(7)).await.unwrap();
                let settlements: Vec<_> = found
                    .fresh
                    .iter()
                    .map(|message| {
                        let of = leases.iter().find(|claimed| claimed.lease.shard == message.shard);
                        delivered(of.unwrap().lease, message.id)
                    })
                    .collect();
                assert!(
                    store
                        .settle(&worker(name), &settlements)
                        .await
                        .unwrap()
                        .stale
                        .is_empty()
                );
                done += settlements.len();
                if !found.more {
                    return done;
                }
            }
        }
    };
    let (a, b) = tokio::join!(run("a"), run("b"));
    assert_eq!(a + b, 120);
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_sent").await,
        "120"
    );
    // No setting was left on a server connection.
    let leases = store.claim(&worker("c"), 1, 1).await.unwrap();
    assert!(leases.is_empty());
    let through = crate::database::connect(&format!("{url}?sslmode=disable")).await;
    for _ in 0..4 {
        assert_eq!(scalar(&through, "SHOW enable_seqscan").await, "on");
    }
    let mut reader = store.reader();
    assert!(read(&mut reader).await.fresh.is_empty());
}
