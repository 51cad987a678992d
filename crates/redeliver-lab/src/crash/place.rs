use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use super::error::{CannotTorment, Result, While as _};

/// A directory for databases, configurations and logs, removed at the end unless somebody has to look into it; and the program.
#[derive(Debug)]
pub(crate) struct Place {
    directory: PathBuf,
    binary: PathBuf,
    keep: AtomicBool,
}

impl Place {
    pub(crate) fn make(campaign: &str, binary: &Path, keep: bool) -> Result<Self> {
        let shown = binary.display();
        let binary = fs::canonicalize(binary).map_err(|error| {
            let next = "build it with cargo build --release -p redeliver-cli, or name it with --binary";
            CannotTorment::new(
                format!("the relay's program {shown} is not there ({next})"),
                error,
            )
        })?;
        let name = format!("redeliver-{campaign}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).during(format!("make the directory {}", directory.display()))?;
        // The servers run as users of their own, who must be able to pass.
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o711))
            .during("open the directory to the servers")?;
        Ok(Self {
            directory,
            binary,
            keep: AtomicBool::new(keep),
        })
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    pub(crate) fn arena(&self, name: &str) -> Result<PathBuf> {
        let directory = self.directory.join(name);
        fs::create_dir_all(&directory).during(format!("make the directory {}", directory.display()))?;
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o711))
            .during("open the directory to the servers")?;
        Ok(directory)
    }

    pub(crate) fn keep(&self) -> PathBuf {
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
