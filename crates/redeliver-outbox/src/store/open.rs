use std::{path::PathBuf, sync::Arc};

use super::{History, Names, Result, Store, StoreError, StoreErrorKind};
use crate::desk::JobDesk;

/// A database from both sides: the engine's and the operator's.
#[derive(Clone, Debug)]
pub struct Opened {
    /// What a relay drives.
    pub store: Arc<dyn Store>,
    /// What an operator does.
    pub desk: Arc<dyn JobDesk>,
    /// Whether it is an SQLite database with nothing in it, so that making the tables surprises nobody.
    pub empty: bool,
}

impl Opened {
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    fn both<S: Store + JobDesk + Clone + 'static>(store: S) -> Self {
        Self {
            store: Arc::new(store.clone()),
            desk: Arc::new(store),
            empty: false,
        }
    }
}

/// Opens the database that the address names: `sqlite://…`, `postgres://…`, `mysql://…` or `mariadb://…`, as far as this build has
/// them.
///
/// Nothing is created or changed in it but an SQLite file that is not there yet. `history` says what a relay that drives the store
/// keeps of messages that arrived.
///
/// # Errors
///
/// If the address is none of these, or the database cannot be opened.
pub async fn open(address: &str, names: &Names, history: History) -> Result<Opened> {
    let scheme = address.split(':').next().unwrap_or_default();
    match scheme {
        #[cfg(feature = "sqlite")]
        "sqlite" => {
            let store = super::SqliteStore::open(address, names.clone())?.with_history(history);
            let empty = store.is_empty().await?;
            Ok(Opened {
                empty,
                ..Opened::both(store)
            })
        }
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => {
            let options = super::PostgresOptions {
                names: names.clone(),
                history,
                ..super::PostgresOptions::default()
            };
            super::PostgresStore::new(address, options).map(Opened::both)
        }
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => {
            // One protocol, two names.
            let address = address.replacen("mariadb:", "mysql:", 1);
            let store = super::MySqlStore::connect(&address, names.clone()).await?;
            Ok(Opened::both(store.with_history(history)))
        }
        _ => Err(unknown(scheme, names, history)),
    }
}

fn unknown(scheme: &str, _: &Names, _: History) -> StoreError {
    let what = match scheme {
        "sqlite" | "postgres" | "postgresql" | "mysql" | "mariadb" => {
            format!("this build of redeliver has no {scheme} store")
        }
        _ => "the database's address names no database that is known".to_owned(),
    };
    let next = "use sqlite://FILE, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE";
    StoreError::new(StoreErrorKind::BadInput, what).next(next)
}

/// The SQLite file that the address names, if there is none yet and opening the database would make it.
#[must_use]
pub fn missing_file(address: &str) -> Option<PathBuf> {
    #[cfg(feature = "sqlite")]
    let file = super::SqliteStore::file_of(address);
    #[cfg(not(feature = "sqlite"))]
    let file: Option<PathBuf> = {
        let _ = address;
        None
    };
    let folder_is_there = |file: &PathBuf| match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.is_dir(),
        _ => true,
    };
    file.filter(|file| !file.exists() && folder_is_there(file))
}
