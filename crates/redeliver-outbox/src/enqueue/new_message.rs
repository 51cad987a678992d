use std::time::Duration;

use crate::{Payload, Timestamp, limits, topic::check_topic};

/// A message that is not yet in the outbox.
///
/// ```
/// use redeliver_outbox::NewMessage;
/// use std::time::Duration;
///
/// let message = NewMessage::to("billing")
///     .key("order-7")
///     .payload(r#"{"order":7,"total":"12.50"}"#)
///     .header("x-tenant", "acme")
///     .delay(Duration::from_secs(30))
///     .deduplication_key("order-7-created");
/// assert!(message.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Empty for an event.
    pub(crate) destination: String,
    pub(crate) topic: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) payload: Payload,
    pub(crate) content_type: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) traceparent: Option<String>,
    pub(crate) due: Due,
    pub(crate) expiry: Due,
    pub(crate) deduplication_key: Option<String>,
}

/// A time that is named, or counted from the insert on the database's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Unset,
    After(Duration),
    At(Timestamp),
}

/// What is wrong with a message: which field, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message's {field} {rule}")]
pub struct InvalidMessage {
    /// The field.
    pub field: &'static str,
    /// What is allowed, and what was met.
    pub rule: String,
}

impl NewMessage {
    /// A message to the destination of this name, with an empty payload so far.
    #[must_use]
    pub fn to(destination: impl Into<String>) -> Self {
        Self {
            destination: destination.into(),
            topic: None,
            key: None,
            payload: Payload::Text(String::new()),
            content_type: None,
            headers: Vec::new(),
            traceparent: None,
            due: Due::Unset,
            expiry: Due::Unset,
            deduplication_key: None,
        }
    }

    /// An event on this topic, with an empty payload so far: the relay makes a message of it for each destination that the routes of
    /// its configuration name.
    ///
    /// ```
    /// use redeliver_outbox::NewMessage;
    ///
    /// let event = NewMessage::on("orders.paid").key("order-7").payload(r#"{"order":7}"#);
    /// assert!(event.validate().is_ok());
    /// ```
    #[must_use]
    pub fn on(topic: impl Into<String>) -> Self {
        Self::to("").topic(topic)
    }

    /// What the message is about. With a destination, that is all that it says.
    #[must_use]
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = Some(topic.into());
        self
    }

    /// Messages with the same destination and key are delivered one at a time, in the order in which they were inserted.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// What is delivered, byte for byte.
    #[must_use]
    pub fn payload(mut self, payload: impl Into<Payload>) -> Self {
        self.payload = payload.into();
        self
    }

    /// The type of the payload; without one it is `application/json`.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = Some(content_type.into());
        self
    }

    /// One more header for the destination.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The trace context of what caused the message, as W3C writes it.
    #[must_use]
    pub fn traceparent(mut self, traceparent: impl Into<String>) -> Self {
        self.traceparent = Some(traceparent.into());
        self
    }

    /// Not before so long after the insert.
    #[must_use]
    pub const fn delay(mut self, delay: Duration) -> Self {
        self.due = Due::After(delay);
        self
    }

    /// Not before this time.
    #[must_use]
    pub const fn not_before(mut self, time: Timestamp) -> Self {
        self.due = Due::At(time);
        self
    }

    /// Quarantined instead of delivered once it is this old.
    #[must_use]
    pub const fn expires_after(mut self, age: Duration) -> Self {
        self.expiry = Due::After(age);
        self
    }

    /// Quarantined instead of delivered after this time.
    #[must_use]
    pub const fn expires_at(mut self, time: Timestamp) -> Self {
        self.expiry = Due::At(time);
        self
    }

    /// Of messages with the same de-duplication key, only the first is inserted, for as long as the key is remembered.
    #[must_use]
    pub fn deduplication_key(mut self, key: impl Into<String>) -> Self {
        self.deduplication_key = Some(key.into());
        self
    }

    /// Whether a relay with the usual limits would take it.
    ///
    /// # Errors
    ///
    /// If it would not: the field, and what is allowed.
    pub fn validate(&self) -> Result<(), InvalidMessage> {
        if let Some(topic) = &self.topic {
            check_topic(topic).or_else(|error| refuse("topic", error.to_string()))?;
        }
        if self.topic.is_none() || !self.destination.is_empty() {
            text("destination", &self.destination, limits::DESTINATION_LIMIT)?;
        }
        if let Some(key) = &self.key {
            text("key", key, limits::KEY_LIMIT)?;
        }
        if let Some(key) = &self.deduplication_key {
            text("de-duplication key", key, limits::DEDUPLICATION_KEY_LIMIT)?;
        }
        if self.payload.len() > limits::PAYLOAD_LIMIT {
            let (length, limit) = (self.payload.len(), limits::PAYLOAD_LIMIT);
            return refuse(
                "payload",
                format!("has {length} bytes; at most {limit} are allowed"),
            );
        }
        for (field, text) in [
            ("content type", &self.content_type),
            ("traceparent", &self.traceparent),
        ] {
            if let Some(text) = text {
                header_column(field, text)?;
            }
        }
        time("delay or not_before", self.due)?;
        time("expiry", self.expiry)?;
        for (name, value) in &self.headers {
            header_name(name)?;
            header("headers", value)?;
        }
        let length: usize = self
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len() + 6)
            .sum();
        if length > limits::HEADERS_LIMIT {
            let limit = limits::HEADERS_LIMIT;
            return refuse(
                "headers",
                format!("have {length} bytes; at most {limit} are allowed"),
            );
        }
        Ok(())
    }

    /// The headers as the column holds them: a JSON object, or nothing.
    #[must_use]
    pub fn headers_json(&self) -> Option<String> {
        if self.headers.is_empty() {
            return None;
        }
        let object: serde_json::Map<String, serde_json::Value> = self
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect();
        Some(serde_json::Value::Object(object).to_string())
    }
}

fn refuse<T>(field: &'static str, rule: String) -> Result<T, InvalidMessage> {
    Err(InvalidMessage { field, rule })
}

fn text(field: &'static str, text: &str, limit: usize) -> Result<(), InvalidMessage> {
    if text.is_empty() {
        return refuse(field, "is empty".to_owned());
    }
    if text.len() > limit {
        return refuse(
            field,
            format!("has {} bytes; at most {limit} are allowed", text.len()),
        );
    }
    match text.chars().find(|character| character.is_control()) {
        Some(character) => refuse(field, format!("holds the control character {character:?}")),
        None => Ok(()),
    }
}

/// A header that has a column of its own, and so an end where MySQL would cut it.
pub(crate) fn header_column(field: &'static str, value: &str) -> Result<(), InvalidMessage> {
    let (length, limit) = (value.len(), limits::HEADER_COLUMN_LIMIT);
    if length > limit {
        return refuse(field, format!("has {length} bytes; at most {limit} are allowed"));
    }
    header(field, value)
}

/// A time that all three databases can hold.
fn time(field: &'static str, due: Due) -> Result<(), InvalidMessage> {
    let fits = match due {
        Due::Unset => true,
        Due::After(duration) => duration <= limits::LONGEST_DELAY,
        Due::At(time) => (0..=limits::LATEST_MILLIS).contains(&time.as_millis()),
    };
    if fits {
        return Ok(());
    }
    let years = limits::LONGEST_DELAY.as_secs() / (365 * 24 * 3600);
    refuse(
        field,
        format!("is out of range; a time is between 1970 and 9999, a delay at most {years} years"),
    )
}

/// What an HTTP header may hold: no line break above all, with which one header would become two.
pub(crate) fn header(field: &'static str, value: &str) -> Result<(), InvalidMessage> {
    let hold = if field == "headers" { "hold" } else { "holds" };
    match value
        .chars()
        .find(|&character| character != '\t' && (character.is_control() || !character.is_ascii()))
    {
        Some(character) => refuse(
            field,
            format!("{hold} the character {character:?}, which no header may"),
        ),
        None => Ok(()),
    }
}

pub(crate) fn header_name(name: &str) -> Result<(), InvalidMessage> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(allowed) {
        let name: String = name.chars().take(40).collect();
        return refuse(
            "headers",
            format!("hold the name {name:?}, which is none that HTTP allows"),
        );
    }
    Ok(())
}
