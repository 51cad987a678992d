//! The desk for people: what is for a destination only does not come out of it.

mod passed_on;

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{AuditRecord, Detail, Edit, Filter, JobDesk, MessageRef, Page, Record, Replay};
use crate::{
    MessageId, Payload,
    destination::Routes,
    limits,
    secrecy::{InvalidChange, MARK, Secrecy, check_headers, shown_headers},
    store::{Result, StoreError, StoreErrorKind},
};

/// A desk that shows everything but what its routes mark secret, and the headers whose names say that they are. Whoever changes a message
/// leaves what is hidden as it is, unless it is given anew.
#[derive(Clone, Debug)]
pub struct Discreet {
    desk: Arc<dyn JobDesk>,
    routes: Routes,
}

impl Discreet {
    /// This desk, as these routes let it be seen.
    #[must_use]
    pub fn new(desk: Arc<dyn JobDesk>, routes: Routes) -> Self {
        Self { desk, routes }
    }

    /// The desk itself, which hides nothing: not for what is shown.
    #[must_use]
    pub const fn revealed(&self) -> &Arc<dyn JobDesk> {
        &self.desk
    }

    fn secrecy(&self, record: &Record) -> Secrecy {
        record.secrecy(&self.routes)
    }

    /// The filter, which does not find out by searching what is not shown.
    fn narrowed<'f>(&self, filter: &'f Filter) -> Cow<'f, Filter> {
        let mut narrowed = Cow::Borrowed(filter);
        if filter.text.is_none() {
            return narrowed;
        }
        if self.routes.hides_anything() {
            let open = self.routes.iter().filter(|(_, route)| route.secrecy.is_nothing());
            narrowed.to_mut().searched = Some(open.map(|(name, _)| name.to_owned()).collect());
        }
        narrowed
    }

    /// What a destination hides by its own word. One that is not named has given none: what it will hide, nobody knows.
    fn promised(&self, destination: &str) -> Secrecy {
        let route = self.routes.get(destination);
        route.map(|route| route.secrecy.clone()).unwrap_or_default()
    }

    /// Whether what is hidden of these events would be seen where they are to be replayed to. Where the routes lead them there anyway, that is
    /// for the configuration to say.
    fn check_replay(&self, replay: &Replay) -> Result<()> {
        let (topic, to) = (&replay.topic, &replay.to);
        let leads_there = self.routes.lead_to(topic, |names| names.contains(to));
        if leads_there || self.promised(to).covers(&self.routes.secrecy_of_topics(topic)) {
            return Ok(());
        }
        let (topic, to) = (topic.to_string(), to.clone());
        Err(refused(&InvalidChange::Replayed { topic, to }))
    }

    fn shown(&self, mut record: Record) -> Record {
        let secrecy = self.secrecy(&record);
        record.headers = record.headers.as_deref().map(shown_headers);
        if let Some(payload) = &record.payload {
            record.hidden = secrecy.hides(payload);
            record.payload = Some(secrecy.hidden(payload));
        }
        record
    }

    fn shown_detail(&self, mut detail: Detail) -> Detail {
        let secrecy = self.secrecy(&detail.record);
        detail.original_payload = detail.original_payload.map(|original| secrecy.hidden(&original));
        for act in &mut detail.audit {
            act.detail = shown_act(&act.detail, &secrecy);
        }
        for branch in &mut detail.fan_out {
            branch.record = branch.record.take().map(|record| self.shown(record));
        }
        detail.record = self.shown(detail.record);
        detail
    }

    /// What of these acts may be seen. Where a message is forgotten, nobody knows any more what was secret in it.
    async fn shown_acts(&self, mut acts: Vec<AuditRecord>) -> Result<Vec<AuditRecord>> {
        let named: Vec<MessageId> = acts
            .iter()
            .filter(|act| keeps_a_payload(&act.detail))
            .filter_map(|act| act.message)
            .collect();
        let mut known: HashMap<MessageId, Secrecy> = HashMap::new();
        for some in named.chunks(limits::SQLITE_NAMED_MESSAGES) {
            let filter = Filter {
                messages: some.iter().map(|id| MessageRef::Id(*id)).collect(),
                ..Filter::default()
            };
            let page = Page {
                after: None,
                until: None,
                limit: some.len(),
                newest_first: false,
            };
            let found = self.desk.list(&filter, page, false).await?;
            known.extend(found.iter().map(|record| (record.id, self.secrecy(record))));
        }
        for act in &mut acts {
            let secrecy = act.message.and_then(|id| known.get(&id));
            act.detail = shown_act(&act.detail, secrecy.unwrap_or(&Secrecy::Everything));
        }
        Ok(acts)
    }

    /// The change as it is for the message itself, which the one who makes it has not seen whole.
    async fn meant(&self, message: MessageRef, edit: &Edit) -> Result<Edit> {
        let mut meant = edit.clone();
        if let Some(headers) = &edit.headers {
            check_headers(headers).map_err(|error| refused(&error))?;
        }
        let Some(detail) = self.desk.find(message).await? else {
            return Ok(meant);
        };
        let (record, secrecy) = (&detail.record, self.secrecy(&detail.record));
        if secrecy.is_nothing() {
            return Ok(meant);
        }
        // What is merged is merged into this, and nothing else.
        meant.seen = meant.seen.or(Some(detail.seen()));
        if let Some(to) = &edit.destination
            && !self.promised(to).covers(&secrecy)
        {
            let (from, to) = (record.destination.clone(), to.clone());
            return Err(refused(&match self.routes.get(&from) {
                None if !from.is_empty() => InvalidChange::FromUnknown { from, to },
                _ => InvalidChange::Elsewhere { from, to },
            }));
        }
        if let Some(change) = &edit.payload {
            let nothing = Payload::from("");
            let stored = record.payload.as_ref().unwrap_or(&nothing);
            meant.payload = Some(secrecy.changed(stored, change).map_err(|error| refused(&error))?);
        }
        Ok(meant)
    }
}

fn refused(error: &InvalidChange) -> StoreError {
    StoreError::new(StoreErrorKind::BadInput, error.to_string())
}

/// Where an act keeps the payload as it was inserted, so that it can be found again.
const ORIGINALS: [&str; 2] = ["original_payload", "original_payload_hex"];

fn keeps_a_payload(detail: &str) -> bool {
    ORIGINALS.iter().any(|name| detail.contains(name))
}

/// The detail of an act without what is hidden of the payload in it.
fn shown_act(detail: &str, secrecy: &Secrecy) -> String {
    if secrecy.is_nothing() || !keeps_a_payload(detail) {
        return detail.to_owned();
    }
    let Ok(Value::Object(mut object)) = serde_json::from_str(detail) else {
        return detail.to_owned();
    };
    for name in ORIGINALS {
        if let Some(original) = object.get_mut(name) {
            let text = original.as_str().filter(|_| name == ORIGINALS[0]);
            let shown = text.map(|text| secrecy.hidden(&Payload::from(text)));
            let shown = shown.as_ref().and_then(Payload::as_text).unwrap_or(MARK);
            *original = Value::from(shown);
        }
    }
    Value::Object(object).to_string()
}
