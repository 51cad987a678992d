use super::{bytes, bytes_value, import, quoted};
use crate::database::{ALL, Database, Kind};

/// A table and columns whose names need quotes.
fn table(kind: Kind) -> (String, String) {
    let (json, time) = match kind {
        Kind::Sqlite => ("JSON", "INTEGER"),
        Kind::Postgres => ("jsonb", "timestamptz"),
        Kind::MariaDb | Kind::MySql => ("json", "datetime(3)"),
    };
    let q = |name| quoted(kind, name);
    let table = q("the \"out\" box").replace(
        "\"out\"",
        if kind.is_mysql_or_mariadb() {
            "\"out\""
        } else {
            "\"\"out\"\""
        },
    );
    let made = format!(
        "CREATE TABLE {table} ({} bigint PRIMARY KEY, {} varchar(50), {} varchar(50), {} {}, body {json}, kind varchar(50), \
         {} {json}, trace varchar(100), due {time}, {} {time}, event varchar(36), done varchar(10))",
        q("order"),
        q("to"),
        q("group"),
        q("key"),
        bytes(kind),
        q("Headers"),
        q("end"),
    );
    (table, made)
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// 2030-01-01T00:00:00.250Z and a day later.
const DUE: i64 = 1_893_456_000_250;
const END: i64 = DUE + 86_400_000;

fn at(kind: Kind, millis: i64) -> String {
    match kind {
        Kind::Sqlite => millis.to_string(),
        Kind::Postgres => format!("to_timestamp({millis} / 1000.0)"),
        Kind::MariaDb | Kind::MySql => format!("TIMESTAMPADD(MICROSECOND, {millis} * 1000, '1970-01-01')"),
    }
}

#[test]
fn every_field_comes_from_its_column() {
    for kind in ALL {
        let database = Database::new(kind);
        let mut client = database.client();
        let (table, made) = table(kind);
        client.run(&made);
        client.run(&format!(
            "INSERT INTO {table} VALUES (1, 'api', 'orders.paid', {}, '{{\"n\": 1}}', 'application/vnd.shop+json', \
             '{{\"x-tenant\": \"acme\"}}', '{TRACE}', {}, {}, 'e-1', NULL)",
            bytes_value(kind, "00ff"),
            at(kind, DUE),
            at(kind, END)
        ));
        client.run(&format!(
            "INSERT INTO {table} VALUES (2, '', 'orders.new', NULL, '{{\"n\": 2}}', NULL, NULL, NULL, NULL, NULL, 'e-2', NULL)"
        ));
        client.run(&format!(
            "INSERT INTO {table} VALUES (3, 'api', NULL, NULL, '{{\"n\": 3}}', NULL, NULL, NULL, NULL, NULL, 'e-3', 'yes')"
        ));
        database.configure(
            "[destinations.api]\ntype = \"log\"\n[import.shop]\ntable = \"the \\\"out\\\" box\"\norder = \"order\"\n\
             where = \"done IS NULL -- those that are left\"\ndestination = { column = \"to\" }\ntopic = { column = \"group\" }\n\
             key = { column = \"key\" }\npayload = { column = \"body\" }\ncontent_type = { column = \"kind\" }\n\
             headers = { column = \"Headers\" }\ntraceparent = { column = \"trace\" }\nnot_before = { column = \"due\" }\n\
             expires_at = { column = \"end\" }\ndeduplicate = { column = \"event\" }\n",
        );
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(
            (ran.code, ran.figures()),
            (Some(0), [2, 2, 0, 0]),
            "{kind:?}: {ran:?}"
        );

        let millis = |column| kind.millis(column);
        let rows = client.rows(&format!(
            "SELECT destination, topic, lane, payload, content_type, headers, traceparent, {}, {} FROM redeliver_outbox ORDER BY number",
            millis("not_before"),
            millis("expires_at")
        ));
        let some = |text: &str| Some(text.to_owned());
        let first = [
            some("api"),
            some("orders.paid"),
            some("00ff"),
            some("{\"n\": 1}"),
            some("application/vnd.shop+json"),
            some("{\"x-tenant\":\"acme\"}"),
            some(TRACE),
            some(&DUE.to_string()),
            some(&END.to_string()),
        ];
        assert_eq!(rows[0], first, "{kind:?}");
        let second = [
            some(""),
            some("orders.new"),
            None,
            some("{\"n\": 2}"),
            None,
            None,
            None,
            None,
            None,
        ];
        assert_eq!(rows[1], second, "{kind:?}");
        // The statement that MariaDB's JSON checks, and that a key is the event's and not the row's.
        let keys = client.rows("SELECT deduplication_key FROM redeliver_deduplication ORDER BY 1");
        assert_eq!(
            keys,
            [[some("import:shop:e-1")], [some("import:shop:e-2")]],
            "{kind:?}"
        );
    }
}

#[test]
fn several_columns_are_one_object() {
    for kind in ALL {
        let database = Database::new(kind);
        let mut client = database.client();
        let (json, time, flag) = match kind {
            Kind::Sqlite => ("JSON", "text", "boolean"),
            Kind::Postgres => ("json", "timestamptz", "boolean"),
            Kind::MariaDb | Kind::MySql => ("json", "datetime(3)", "boolean"),
        };
        client.run(&format!(
            "CREATE TABLE events (id bigint PRIMARY KEY, total decimal(30, 10), name varchar(50), more {json}, raw {}, at {time}, \
             good {flag}, gone varchar(5))",
            bytes(kind)
        ));
        let when = match kind {
            Kind::Sqlite => "'2030-01-01T00:00:00.250Z'",
            Kind::Postgres => "'2030-01-01 01:00:00.250+01'",
            Kind::MariaDb | Kind::MySql => "'2030-01-01 00:00:00.250'",
        };
        let total = match kind {
            // It has no decimals: what is written so is a float.
            Kind::Sqlite => "12.5",
            Kind::Postgres | Kind::MariaDb | Kind::MySql => "12345678901234567890.0123456789",
        };
        client.run(&format!(
            "INSERT INTO events VALUES (9007199254740993, {total}, 'a\"b', '[1,{{}}]', {}, {when}, true, NULL)",
            bytes_value(kind, "00ff")
        ));
        database.configure(
            "[import.shop]\ntable = \"events\"\norder = \"id\"\ntopic = \"orders\"\n\
             payload = { columns = [\"id\", \"total\", \"name\", \"more\", \"raw\", \"at\", \"good\", \"gone\"] }\n",
        );
        let ran = import(&database, &["shop", "--json"]);
        assert_eq!(ran.figures(), [1, 1, 0, 0], "{kind:?}: {ran:?}");
        let (at, good) = match kind {
            Kind::Sqlite => ("2030-01-01T00:00:00.250Z", "1"),
            Kind::Postgres => ("2030-01-01T00:00:00.25Z", "true"),
            Kind::MariaDb | Kind::MySql => ("2030-01-01T00:00:00.250000", "1"),
        };
        // It writes its JSON anew.
        let more = if kind == Kind::MySql { "[1, {}]" } else { "[1,{}]" };
        let payload = format!(
            r#"{{"id":9007199254740993,"total":{total},"name":"a\"b","more":{more},"raw":"00ff","at":"{at}","good":{good},"gone":null}}"#
        );
        assert_eq!(super::payloads(&database), [payload], "{kind:?}");
    }
}

/// The table is in one database and the outbox in another.
#[test]
fn the_table_may_be_elsewhere() {
    for kind in ALL {
        let (there, here) = (super::shop(kind), Database::new(Kind::Sqlite));
        super::fill(&there, 1..=3);
        here.configure(
            "[import.shop]\ndatabase = \"$SHOP\"\ntable = \"events\"\norder = \"id\"\ndestination = \"api\"\n\
             payload = { column = \"payload\" }\n[destinations.api]\ntype = \"log\"\n",
        );
        let mut command = here.command(&["import", "shop", "--json"]);
        let ran = command.env("SHOP", &there.address).output().unwrap();
        assert!(ran.status.success(), "{kind:?}: {ran:?}");
        assert_eq!(super::payloads(&here), ["1", "2", "3"], "{kind:?}");
        let left = there.client().number("SELECT count(*) FROM redeliver_outbox");
        assert_eq!(left, 0, "{kind:?}");
    }
}
