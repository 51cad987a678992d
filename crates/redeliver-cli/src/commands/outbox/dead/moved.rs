use redeliver_outbox::destination::Routes;

use super::super::database::Outbox;
use crate::{exit::BadInput, readable};

/// Refuses to move a dead letter to where nothing is: it would only come back, and from there nobody could say what is secret in it.
pub(crate) fn check_moved(routes: &Routes, to: Option<&str>) -> Result<(), BadInput> {
    let Some(to) = to.filter(|to| routes.get(to).is_none()) else {
        return Ok(());
    };
    let names: Vec<&str> = routes.iter().map(|(name, _)| name).collect();
    Err(BadInput(format!(
        "there is no destination {} in this configuration, which has {}; name one of them, or add it under [destinations]",
        readable::line(to, 80),
        names.join(", ")
    )))
}

/// The same, where a command knows which destinations there are.
pub(super) fn check_known(outbox: &Outbox, to: Option<&str>) -> Result<(), BadInput> {
    match outbox.settings.only_built_in {
        true => Ok(()),
        false => check_moved(&outbox.settings.routes, to),
    }
}
