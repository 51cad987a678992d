//! The file behind a name: a restore puts another one in its place while connections to the first are open.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::store::{Result, StoreError, StoreErrorKind};

/// What tells one file from another; none where the system does not say.
type Identity = Option<(u64, u64)>;

/// A file, as its name was last seen to mean it.
#[derive(Debug)]
pub(super) struct NamedFile {
    path: PathBuf,
    seen: Mutex<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    main: Identity,
    log: Identity,
    /// How many files had the name before.
    generation: u64,
}

/// Which of the files that had the name one after the other a connection is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generation(u64);

impl Generation {
    pub(super) const FIRST: Self = Self(0);

    pub(super) const fn number(self) -> u64 {
        self.0
    }
}

impl NamedFile {
    /// The file that is there now, which a connection was just made to.
    pub(super) fn new(path: &Path) -> Result<Self> {
        let seen = Mutex::new(Seen {
            main: identity(path)?,
            log: None,
            generation: 0,
        });
        let path = path.to_owned();
        Ok(Self { path, seen })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Which file has the name now.
    ///
    /// The write-ahead log is found by name as well. One that is left of the file before is removed: read into the new file, it would
    /// damage it.
    ///
    /// # Errors
    ///
    /// If none has: what is written to a file without a name is lost.
    pub(super) fn generation(&self) -> Result<Generation> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let main = identity(&self.path)?;
        if main == seen.main {
            if seen.log.is_none() {
                seen.log = identity(&self.beside("-wal")).unwrap_or_default();
            }
            return Ok(Generation(seen.generation));
        }
        if self.is_still_open(seen.main) {
            seen.main = main;
            return Ok(Generation(seen.generation));
        }
        tracing::warn!(target: "redeliver", path = %self.path.display(), "the SQLite file was replaced by another one, which is used from now on");
        if seen.log.is_some() && identity(&self.beside("-wal")).unwrap_or_default() == seen.log {
            for suffix in ["-wal", "-shm"] {
                match fs::remove_file(self.beside(suffix)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(unusable(&self.beside(suffix), error));
                    }
                    _ => {}
                }
            }
        }
        *seen = Seen {
            main,
            log: None,
            generation: seen.generation + 1,
        };
        Ok(Generation(seen.generation))
    }

    /// Whether a file that is open here has the name and this identity. Some file systems give a file another identity now and then; what
    /// is open keeps the one that it had. Only Linux tells.
    fn is_still_open(&self, identity: Identity) -> bool {
        let (Ok(name), Ok(open)) = (fs::canonicalize(&self.path), fs::read_dir("/proc/self/fd")) else {
            return false;
        };
        open.flatten().any(|open| {
            fs::read_link(open.path()).is_ok_and(|target| target == name)
                && fs::metadata(open.path()).is_ok_and(|file| identity_of(&file) == identity)
        })
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(self.path.as_os_str());
        name.push(suffix);
        PathBuf::from(name)
    }
}

fn identity(path: &Path) -> Result<Identity> {
    let metadata = fs::metadata(path).map_err(|error| unusable(path, error))?;
    Ok(identity_of(&metadata))
}

#[cfg(unix)]
fn identity_of(metadata: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity_of(_: &fs::Metadata) -> Identity {
    None
}

fn unusable(path: &Path, error: io::Error) -> StoreError {
    let what = format!("the SQLite file {} cannot be found any more", path.display());
    StoreError::new(StoreErrorKind::Unreachable, what)
        .next("put the file back, or restart with another one")
        .caused_by(error)
}
