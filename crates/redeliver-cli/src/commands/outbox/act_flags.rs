//! Who does something, why, and whether they mean it.

use std::env;

use clap::Args;
use redeliver_outbox::desk::Act;

use crate::{exit::BadInput, output};

/// Who acts, for the audit.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Audit")]
pub(super) struct WhoFlag {
    /// Who does this [default: $USER]
    #[arg(long = "as", value_name = "NAME")]
    who: Option<String>,
}

impl WhoFlag {
    pub(super) fn act(&self, why: &str) -> Act {
        let named = self.who.clone().filter(|name| !name.trim().is_empty());
        let found = || {
            ["USER", "LOGNAME", "USERNAME"]
                .iter()
                .find_map(|name| env::var(name).ok())
        };
        Act {
            who: named.or_else(found).unwrap_or_else(|| "unknown".to_owned()),
            why: why.to_owned(),
        }
    }
}

/// Asks before many messages are changed at once; whether to go on.
pub(super) fn confirmed(yes: bool, what: &str) -> Result<bool, BadInput> {
    if yes {
        return Ok(true);
    }
    output::ask(&format!("{what}?")).ok_or_else(|| {
        BadInput(format!(
            "{what}: nobody is here to be asked; add --yes if you mean it"
        ))
    })
}
