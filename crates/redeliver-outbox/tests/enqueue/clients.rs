//! Every client, doing what it is told in a transaction of its own.

use std::marker::PhantomData;

use diesel::connection::SimpleConnection as _;
use diesel_async::{
    AsyncConnection as _, AsyncMysqlConnection, AsyncPgConnection, SimpleAsyncConnection as _,
    async_connection_wrapper::AsyncConnectionWrapper, sync_connection_wrapper::SyncConnectionWrapper,
};
use redeliver_outbox::{
    Outbox,
    enqueue::{Diesel, DieselAsync},
};
use sqlx::Connection as _;

use crate::{
    act::{Act, End, Said, act},
    database::{Database, Kind, mysql, postgres},
};

/// A client under test.
pub(crate) trait Client: Send + 'static {
    const KIND: Kind;

    /// Begins a transaction, does all of it, ends it.
    fn transact(
        url: String,
        outbox: Outbox,
        acts: Vec<Act>,
        end: End,
    ) -> impl Future<Output = Vec<Said>> + Send;

    async fn on(database: &Database, acts: Vec<Act>, end: End) -> Vec<Said> {
        Self::transact(
            database.url.clone(),
            Outbox::new(database.names.clone()),
            acts,
            end,
        )
        .await
    }
}

/// A client of MySQL on MariaDB.
pub(crate) struct OnMariadb<C>(PhantomData<C>);

impl<C: Client> Client for OnMariadb<C> {
    const KIND: Kind = Kind::Mariadb;

    async fn transact(url: String, outbox: Outbox, acts: Vec<Act>, end: End) -> Vec<Said> {
        C::transact(url, outbox, acts, end).await
    }
}

pub(crate) struct Rusqlite;

impl Client for Rusqlite {
    const KIND: Kind = Kind::Sqlite;

    async fn transact(url: String, outbox: Outbox, acts: Vec<Act>, end: End) -> Vec<Said> {
        blocking(move || {
            let mut connection = rusqlite::Connection::open(url).unwrap();
            connection.busy_timeout(PATIENCE).unwrap();
            let transaction = connection.transaction().unwrap();
            let said = acts
                .into_iter()
                .map(|act| act!(outbox, act, &transaction, |gate| gate.blocking_recv()))
                .collect();
            match end {
                End::Commit => transaction.commit().unwrap(),
                End::RollBack => transaction.rollback().unwrap(),
            }
            said
        })
        .await
    }
}

pub(crate) struct TokioPostgres;

impl Client for TokioPostgres {
    const KIND: Kind = Kind::Postgres;

    async fn transact(url: String, outbox: Outbox, acts: Vec<Act>, end: End) -> Vec<Said> {
        let mut client = postgres(&url).await;
        let transaction = client.transaction().await.unwrap();
        let mut said = Vec::new();
        for act in acts {
            said.push(act!(outbox, act, &transaction, |gate| gate.await, await));
        }
        match end {
            End::Commit => transaction.commit().await.unwrap(),
            End::RollBack => transaction.rollback().await.unwrap(),
        }
        said
    }
}

pub(crate) struct MysqlAsync;

impl Client for MysqlAsync {
    const KIND: Kind = Kind::Mysql;

    async fn transact(url: String, outbox: Outbox, acts: Vec<Act>, end: End) -> Vec<Said> {
        let mut connection = mysql(&url).await;
        let mut transaction = connection
            .start_transaction(mysql_async::TxOpts::default())
            .await
            .unwrap();
        let mut said = Vec::new();
        for act in acts {
            said.push(act!(outbox, act, &mut transaction, |gate| gate.await, await));
        }
        match end {
            End::Commit => transaction.commit().await.unwrap(),
            End::RollBack => transaction.rollback().await.unwrap(),
        }
        connection.disconnect().await.unwrap();
        said
    }
}

macro_rules! sqlx_client {
    ($client:ident, $kind:expr, $connection:ty) => {
        pub(crate) struct $client;

        impl Client for $client {
            const KIND: Kind = $kind;

            async fn transact(url: String, outbox: Outbox, acts: Vec<Act>, end: End) -> Vec<Said> {
                let mut connection = <$connection>::connect(&url).await.unwrap();
                let mut transaction = connection.begin().await.unwrap();
                let mut said = Vec::new();
                for act in acts {
                    said.push(act!(
                        outbox,
                        act,
                        &mut transaction,
                        |gate| gate.await,
                        await
                    ));
                }
                match end {
                    End::Commit => transaction.commit().await.unwrap(),
                    End::RollBack => transaction.rollback().await.unwrap(),
                }
                connection.close().await.unwrap();
                said
            }
        }
    };
}

sqlx_client!(SqlxSqlite, Kind::Sqlite, sqlx::SqliteConnection);
sqlx_client!(SqlxPostgres, Kind::Postgres, sqlx::PgConnection);
sqlx_client!(SqlxMysql, Kind::Mysql, sqlx::MySqlConnection);

/// Diesel has no other way to leave a transaction without committing than an error.
enum Left {
    OnPurpose,
    Because(diesel::result::Error),
}

impl From<diesel::result::Error> for Left {
    fn from(error: diesel::result::Error) -> Self {
        Self::Because(error)
    }
}

const fn leave(end: End) -> Result<(), Left> {
    match end {
        End::Commit => Ok(()),
        End::RollBack => Err(Left::OnPurpose),
    }
}

fn left(ended: Result<(), Left>) {
    if let Err(Left::Because(error)) = ended {
        panic!("{error}");
    }
}

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
const SQLITE_PATIENCE: &str = "PRAGMA busy_timeout = 60000";

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

macro_rules! diesel_client {
    ($client:ident, $kind:expr, $connection:ty $(, $setting:expr)?) => {
        pub(crate) struct $client;

        impl Client for $client {
            const KIND: Kind = $kind;

            async fn transact(url: String, outbox: Outbox, acts: Vec<Act>, end: End) -> Vec<Said> {
                blocking(move || {
                    let mut connection = <$connection as diesel::Connection>::establish(&url).unwrap();
                    $(connection.batch_execute($setting).unwrap();)?
                    let mut said = Vec::new();
                    let ended = diesel::Connection::transaction(&mut connection, |connection| {
                        for act in acts {
                            said.push(act!(outbox, act, Diesel(connection), |gate| gate.blocking_recv()));
                        }
                        leave(end)
                    });
                    left(ended);
                    said
                })
                .await
            }
        }
    };
}

diesel_client!(
    DieselSqlite,
    Kind::Sqlite,
    diesel::SqliteConnection,
    SQLITE_PATIENCE
);
diesel_client!(
    DieselPostgres,
    Kind::Postgres,
    AsyncConnectionWrapper<AsyncPgConnection>
);
diesel_client!(
    DieselMysql,
    Kind::Mysql,
    AsyncConnectionWrapper<AsyncMysqlConnection>
);

macro_rules! diesel_async_client {
    ($client:ident, $kind:expr, $connection:ty $(, $setting:expr)?) => {
        pub(crate) struct $client;

        impl Client for $client {
            const KIND: Kind = $kind;

            async fn transact(url: String, outbox: Outbox, acts: Vec<Act>, end: End) -> Vec<Said> {
                let mut connection = <$connection as diesel_async::AsyncConnection>::establish(&url).await.unwrap();
                $(connection.batch_execute($setting).await.unwrap();)?
                let mut said = Vec::new();
                let ended = connection
                    .transaction(async |connection| {
                        for act in acts {
                            said.push(act!(outbox, act, DieselAsync(connection), |gate| gate.await, await));
                        }
                        leave(end)
                    })
                    .await;
                left(ended);
                said
            }
        }
    };
}

diesel_async_client!(
    DieselAsyncSqlite,
    Kind::Sqlite,
    SyncConnectionWrapper<diesel::SqliteConnection>,
    SQLITE_PATIENCE
);
diesel_async_client!(DieselAsyncPostgres, Kind::Postgres, AsyncPgConnection);
diesel_async_client!(DieselAsyncMysql, Kind::Mysql, AsyncMysqlConnection);
