//! Where it plays: five destinations, and the configuration that says so.

use std::{fs, io, path::Path};

/// The configuration, as people can read it.
const CONFIGURATION: &str = include_str!("redeliver.toml");
/// Its name in the demo's folder, as every command looks for it.
const FILE: &str = "redeliver.toml";

/// A destination of the demo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    /// What the paths of its requests begin with.
    path: &'static str,
    /// How it is, in a few words.
    pub(super) is: &'static str,
}

pub(super) const WAREHOUSE: &str = "warehouse";
pub(super) const CRM: &str = "crm";
/// What the shop says of every order, and who hears of it.
pub(super) const TOPIC: &str = "orders.paid";
pub(super) const INTERESTED: [&str; 3] = ["billing", "email", "search"];

/// All destinations, in the order in which they are told.
pub(super) const PARTS: [Part; 5] = [
    Part {
        name: "billing",
        path: "/ok",
        is: "is well",
    },
    Part {
        name: "email",
        path: "/fail-rate/",
        is: "fails {fail_rate} % of the time",
    },
    Part {
        name: "search",
        path: "/limit/",
        is: "takes 6 requests a second, and asks the others to come later (429, Retry-After)",
    },
    Part {
        name: WAREHOUSE,
        path: "/outage",
        is: "goes down after 3s and comes back after 7s; again every 25s",
    },
    Part {
        name: CRM,
        path: "/picky",
        is: "rejects what lacks a field (422)",
    },
];

impl Part {
    pub(super) fn words(self, fail_rate: u8) -> String {
        self.is.replace("{fail_rate}", &fail_rate.to_string())
    }
}

/// The destination that a request was for.
pub(super) fn of_path(path: &str) -> Option<&'static str> {
    PARTS
        .iter()
        .find(|part| path.starts_with(part.path))
        .map(|part| part.name)
}

/// The name of a destination that is one of ours.
pub(super) fn known(name: &str) -> Option<&'static str> {
    PARTS.iter().find(|part| part.name == name).map(|part| part.name)
}

fn configuration(api: &str, database: &str, fail_rate: u8) -> String {
    CONFIGURATION
        .replace("{api}", api)
        // A text of TOML between double quotes has these as JSON has them.
        .replace("\"{database}\"", &serde_json::Value::from(database).to_string())
        .replace("{fail_rate}", &fail_rate.to_string())
}

/// Writes the configuration into the folder, and says where.
pub(super) fn write(
    folder: &Path,
    api: &str,
    database: &str,
    fail_rate: u8,
) -> io::Result<std::path::PathBuf> {
    let file = folder.join(FILE);
    fs::write(&file, configuration(api, database, fail_rate))?;
    Ok(file)
}

/// What commands in the demo's folder need first, if anything: what the environment says goes before every file.
pub(super) fn first() -> &'static str {
    match std::env::var_os("REDELIVER_DATABASE") {
        Some(address) if !address.is_empty() => {
            "\x20 unset REDELIVER_DATABASE   (it names another outbox, and goes before the redeliver.toml)\n"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::config::Config;

    use super::*;

    fn read() -> Config {
        let text = configuration("http://127.0.0.1:7", "sqlite:///tmp/a \"b\"/shop.db", 30);
        assert!(!text.contains("{api}") && !text.contains("{fail_rate}"), "{text}");
        Config::parse(&text, Path::new(FILE), &|_| None).unwrap()
    }

    #[test]
    fn the_configuration_is_one() {
        let config = read();
        assert_eq!(config.database.as_deref(), Some("sqlite:///tmp/a \"b\"/shop.db"));
        let mut names: Vec<&str> = config.destinations.iter().map(|(name, _)| name).collect();
        let mut parts: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        names.sort_unstable();
        parts.sort_unstable();
        assert_eq!(names, parts);
        assert_eq!(config.retention.sent, None);
    }

    #[test]
    fn a_request_is_known_by_its_path() {
        for part in PARTS {
            let at = CONFIGURATION
                .find(&format!("[destinations.{}]", part.name))
                .unwrap();
            let url = CONFIGURATION[at..].split("{api}").nth(1).unwrap();
            assert_eq!(of_path(url), Some(part.name), "{url}");
        }
        assert_eq!(of_path("/nowhere"), None);
    }

    #[test]
    fn what_is_said_of_a_topic_is_what_the_routes_say() {
        let line = CONFIGURATION
            .lines()
            .find(|line| line.starts_with(&format!("\"{TOPIC}\"")))
            .unwrap();
        let names = INTERESTED.map(|name| format!("\"{name}\"")).join(", ");
        assert!(line.ends_with(&format!("[{names}]")), "{line}");
    }
}
