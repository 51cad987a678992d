//! The line to the database breaks while a relay starts.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    thread,
};

use crate::{
    client::Client,
    database::{Database, SERVERS},
    endpoint::Endpoint,
};

/// As many connections as a relay opens before it has begun, and then some.
const CONNECTIONS: usize = 5;

#[test]
fn each_connection_that_is_lost_at_the_start_is_made_again() {
    for kind in SERVERS {
        for lost in 0..CONNECTIONS {
            let mut database = Database::new(kind);
            let endpoint = Endpoint::well();
            endpoint.configure(&database, "/ok", "2s");
            insert(&mut database.client());
            let direct = database.address.clone();
            database.address = losing(&direct, lost);
            let command = &["serve", "--until-empty", "--for", "1m"];
            let ran = database.command(command).output().unwrap();
            database.address = direct;
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{kind:?}, connection {lost}: {said}");
            assert_eq!(endpoint.arrived().len(), 1, "{kind:?}, connection {lost}: {said}");
        }
    }
}

fn insert(client: &mut Client) {
    client.run("INSERT INTO redeliver_outbox (destination, payload) VALUES ('api', '1')");
}

/// The address of a line to this database, where the connection of this number is closed as soon as it is made.
fn losing(address: &str, lost: usize) -> String {
    let (before, rest) = address.split_once('@').unwrap();
    let (server, database) = rest.split_once('/').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let line = listener.local_addr().unwrap();
    let server = server.to_owned();
    thread::spawn(move || {
        for (number, near) in listener.incoming().map_while(Result::ok).enumerate() {
            if number != lost {
                let far = TcpStream::connect(&server).unwrap();
                pass(near.try_clone().unwrap(), far.try_clone().unwrap());
                pass(far, near);
            }
        }
    });
    format!("{before}@{line}/{database}")
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        // Whoever went away is not told anything any more.
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}
