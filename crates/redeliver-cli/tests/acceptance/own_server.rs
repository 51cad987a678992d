use std::{collections::HashMap, path::PathBuf, process::Command};

use crate::database::Kind;

/// Servers that nobody else uses, and that may be ended.
pub(crate) struct OwnServers {
    variables: HashMap<String, String>,
}

fn services(arguments: &[&str]) -> String {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/services");
    let ran = Command::new(script).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "scripts/services {arguments:?}: {said}");
    String::from_utf8(ran.stdout).unwrap()
}

impl OwnServers {
    pub(crate) fn start() -> Self {
        let lines = services(&["start"]);
        let lines = lines.lines().filter_map(|line| line.strip_prefix("export "));
        let pairs = lines.filter_map(|line| line.split_once('='));
        let variables = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            variables: variables.collect(),
        }
    }

    pub(crate) fn address(&self, kind: Kind) -> String {
        self.variables[kind.variable()].clone()
    }

    fn folder(&self) -> &str {
        &self.variables["REDELIVER_TEST_SERVICES"]
    }

    /// Ends a server.
    pub(crate) fn halt(&self, kind: Kind) {
        services(&["halt", self.folder(), name(kind)]);
    }

    /// Starts it again, where it was.
    pub(crate) fn resume(&self, kind: Kind) {
        services(&["resume", self.folder(), name(kind)]);
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::MariaDb => "mariadb",
        Kind::MySql => "mysql",
        _ => "postgres",
    }
}

impl Drop for OwnServers {
    fn drop(&mut self) {
        services(&["stop", self.folder()]);
    }
}
