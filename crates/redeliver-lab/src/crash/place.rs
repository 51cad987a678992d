use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    error::{CannotTorment, Result, While as _},
    options::Options,
};

/// A directory for databases, configurations and logs, removed at the end unless somebody has to look into it; and the program.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    binary: PathBuf,
    keep: AtomicBool,
}

impl Place {
    pub(super) fn make(options: &Options) -> Result<Self> {
        let shown = options.binary.display();
        let binary = fs::canonicalize(&options.binary).map_err(|error| {
            let next = "build it with cargo build --release -p redeliver-cli, or name it with --binary";
            CannotTorment::new(
                format!("the relay's program {shown} is not there ({next})"),
                error,
            )
        })?;
        let name = format!("redeliver-crash-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).during(format!("make the directory {}", directory.display()))?;
        // The servers run as users of their own, who must be able to pass.
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o711))
            .during("open the directory to the servers")?;
        Ok(Self {
            directory,
            binary,
            keep: AtomicBool::new(options.keep),
        })
    }

    pub(super) fn binary(&self) -> &Path {
        &self.binary
    }

    pub(super) fn arena(&self, name: &str) -> Result<PathBuf> {
        let directory = self.directory.join(name);
        fs::create_dir_all(&directory).during(format!("make the directory {}", directory.display()))?;
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o711))
            .during("open the directory to the servers")?;
        Ok(directory)
    }

    pub(super) fn keep(&self) -> PathBuf {
        self.keep.store(true, Ordering::Relaxed);
        self.directory.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.keep.load(Ordering::Relaxed) {
            // What cannot be removed is temporary all the same.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}
