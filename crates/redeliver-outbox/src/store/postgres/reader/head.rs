//! Looking up the scheduled messages that lanes wait for.

use std::collections::BTreeSet;

use tokio_postgres::types::Type;

use crate::store::{
    Head, Result,
    heads::{self, Lane},
    postgres::{Session, moment::Now, session::Parameter},
};

/// The first scheduled messages of each lane.
pub(super) async fn heads(session: &Session<'_>, now: &Now, lanes: BTreeSet<Lane<'_>>) -> Result<Vec<Head>> {
    let nothing_scheduled = !now.due && now.next_due.is_none();
    if nothing_scheduled || lanes.is_empty() {
        return Ok(Vec::new());
    }
    let (destinations, keys): (Vec<&str>, Vec<&str>) = lanes
        .into_iter()
        .map(|(_, destination, key)| (destination, key))
        .unzip();
    let parameters: [Parameter<'_>; 2] = [(&destinations, Type::TEXT_ARRAY), (&keys, Type::TEXT_ARRAY)];
    session
        .read(include_str!("../sql/read_heads.sql"), &parameters, heads::head)
        .await
}
