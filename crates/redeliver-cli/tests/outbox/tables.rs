use crate::bench::Folder;

#[test]
fn tables_are_made_and_taken_back() {
    let folder = Folder::new();
    let made = folder.run(&["migrate", "--json"]).done().json().remove(0);
    assert_eq!(
        (&made["before"], made["after"].as_u64() > Some(0)),
        (&0.into(), true)
    );
    let newest = made["after"].clone();
    let again = folder.run(&["migrate"]).done().out;
    assert_eq!(
        again,
        format!("sqlite://redeliver.db: the tables have version {newest} already\n")
    );
    assert_eq!(
        folder.run(&["migrate", "--to", "1"]).code,
        Some(2),
        "a way back has to be meant"
    );
    folder.run(&["migrate", "--down", "--to", "1"]).done();
    let old = folder.run(&["status"]);
    assert_eq!(old.code, Some(4));
    assert!(old.err.contains("redeliver migrate"), "{}", old.err);
    folder.run(&["migrate"]).done();
    folder.run(&["send", "--to", "log", "--payload", "1"]).done();
    let asked = folder.run(&["migrate", "--down"]);
    assert_eq!(asked.code, Some(2));
    assert!(
        asked
            .err
            .contains("remove the tables of sqlite://redeliver.db with 1 messages"),
        "{}",
        asked.err
    );
    folder.run(&["migrate", "--down", "--yes"]).done();
    assert_eq!(folder.run(&["status"]).code, Some(4));
}

#[test]
fn the_number_of_shards_is_fixed_once_it_is_made() {
    let folder = Folder::new();
    folder.run(&["migrate", "--shards", "4"]).done();
    folder.run(&["migrate", "--shards", "4"]).done();
    folder.run(&["migrate"]).done();
    let refused = folder.run(&["migrate", "--shards", "8"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{refused:?}");
    assert!(
        refused
            .err
            .contains("--shards 8: the tables were made with 4, and that stays"),
        "{refused:?}"
    );
    folder.run(&["migrate", "--down", "--to", "1"]).done();
    let refused = folder.run(&["migrate", "--shards", "8"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    folder
        .run(&["migrate", "--down", "--yes", "--shards", "8"])
        .done();
}

#[test]
fn statements_are_printed_without_making_anything() {
    let folder = Folder::new();
    let up = folder.run(&["migrate", "--print"]).done().out;
    assert!(
        up.contains("-- 0001 outbox (up)") && up.contains("CREATE TABLE redeliver_outbox"),
        "{up}"
    );
    let down = folder.run(&["migrate", "--print", "--down"]).done().out;
    assert!(down.contains("DROP TABLE redeliver_outbox"), "{down}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
    folder.write("redeliver.toml", "prefix = \"shop_\"\n");
    assert!(
        folder
            .run(&["migrate", "--print"])
            .done()
            .out
            .contains("CREATE TABLE shop_outbox")
    );
    folder.run(&["send", "--to", "log", "--payload", "1"]).done();
    let served = folder.serve();
    assert_eq!(served.out.lines().count(), 1, "{served:?}");
    assert!(
        served.err.contains("redeliver.toml names no destination"),
        "{}",
        served.err
    );
}

#[test]
fn what_is_printed_can_be_run_by_hand() {
    let folder = Folder::new();
    let [up, down] = [&["migrate", "--print"][..], &["migrate", "--print", "--down"]]
        .map(|arguments| folder.run(arguments).done().out);
    // By a SQLite of before 3.42 as well, whose unixepoch knows no milliseconds.
    assert!(!up.contains("subsec"), "{up}");
    let database = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    database.execute_batch(&up).unwrap();
    assert!(folder.run(&["migrate"]).done().out.ends_with(" already\n"));
    folder.run(&["send", "--to", "log", "--payload", "1"]).done();
    folder.serve();
    database.execute_batch(&down).unwrap();
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'redeliver%'";
    let left: i64 = database.query_row(tables, [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[test]
fn the_address_comes_from_the_flag_the_environment_or_the_configuration() {
    let folder = Folder::new();
    folder.write("redeliver.toml", "database = \"sqlite://from-file.db\"\n");
    folder.run(&["migrate"]).done();
    assert!(folder.0.join("from-file.db").exists());
    let mut command = folder.command(&["migrate"]);
    command
        .env("REDELIVER_DATABASE", "sqlite://from-environment.db")
        .output()
        .unwrap();
    assert!(folder.0.join("from-environment.db").exists());
    let mut command = folder.command(&["migrate", "--database", "sqlite://from-flag.db"]);
    command
        .env("REDELIVER_DATABASE", "sqlite://other.db")
        .output()
        .unwrap();
    assert!(folder.0.join("from-flag.db").exists() && !folder.0.join("other.db").exists());
}

#[test]
fn looking_does_not_wait_for_a_writer() {
    let folder = Folder::new();
    folder.run(&["send", "--to", "log", "--payload", "1"]).done();
    let writer = rusqlite::Connection::open(folder.0.join("redeliver.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    for command in [
        &["status"][..],
        &["list"],
        &["why", "1"],
        &["dead", "list"],
        &["audit"],
        &["doctor"],
    ] {
        folder.run(command).done();
    }
    writer.execute_batch("ROLLBACK").unwrap();
}
