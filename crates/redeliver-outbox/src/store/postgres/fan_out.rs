//! Writing that events have become messages.

use serde_json::json;
use tokio_postgres::types::Type;

use super::{Result, Session, session::Parameter, settle::Keys};
use crate::{
    MessageId,
    store::{History, Settlement},
};

/// Events, and what each becomes.
#[derive(Default)]
pub(super) struct FannedOut {
    keys: Keys,
    branches: Vec<String>,
}

impl FannedOut {
    pub(super) fn push(&mut self, settlement: &Settlement, destinations: &[String]) {
        self.keys.push(settlement);
        let branches: serde_json::Value = destinations
            .iter()
            .map(|destination| json!([destination, MessageId::draw_salt()]))
            .collect();
        self.branches.push(branches.to_string());
    }

    pub(super) async fn write(&self, session: &Session<'_>, history: History) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let (kept, payloads) = (history != History::Off, history == History::Full);
        let parameters: [Parameter<'_>; 7] = [
            (&self.keys.shards, Type::INT2_ARRAY),
            (&self.keys.numbers, Type::INT8_ARRAY),
            (&self.keys.redrives, Type::INT4_ARRAY),
            (&self.keys.salts, Type::INT8_ARRAY),
            (&self.branches, Type::TEXT_ARRAY),
            (&kept, Type::BOOL),
            (&payloads, Type::BOOL),
        ];
        session
            .execute(include_str!("sql/settle_fanned_out.sql"), &parameters)
            .await?;
        Ok(())
    }
}
