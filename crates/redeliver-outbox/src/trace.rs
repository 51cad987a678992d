//! The W3C trace context: which trace a message belongs to, and the span of each attempt to deliver it.

use std::{fmt, sync::OnceLock};

use crate::Message;

/// A span as others are told of it: the header `traceparent`.
///
/// ```
/// use redeliver_outbox::trace::TraceParent;
///
/// let told = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let parent = TraceParent::parse(told).unwrap();
/// assert!(parent.is_sampled());
/// assert_eq!(parent.to_string(), told);
/// assert!(TraceParent::parse("00-0-0-00").is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    flags: u8,
}

/// Somebody keeps this trace.
const SAMPLED: u8 = 1;
/// Sampled, and random: the flags that there are. Others must not be told on.
const KNOWN: u8 = 3;
/// Version, trace, span and flags, with hyphens between them.
const LENGTH: usize = 55;

impl TraceParent {
    /// What a header says, if it is one. What a later version says behind the part that all versions have is not looked at.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let told = text.get(..LENGTH)?;
        let later = match &text[LENGTH..] {
            "" => false,
            rest if rest.starts_with('-') => true,
            _ => return None,
        };
        let mut parts = told.split('-');
        let mut part = |length: usize| {
            let digits = parts.next().filter(|part| part.len() == length)?;
            let lower = digits
                .bytes()
                .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
            lower.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
        };
        let version = part(2)?;
        let (trace, span, flags) = (part(32)?, part(16)?, part(2)?);
        let right = version != 0xff && (version > 0 || !later) && trace != 0 && span != 0;
        right.then_some(Self {
            trace,
            span: u64::try_from(span).ok()?,
            flags: u8::try_from(flags).ok()? & KNOWN,
        })
    }

    /// The span of one attempt, with an id of its own drawn from `entropy`. It is a child of the span that the message was inserted in.
    /// Without one, all attempts of a message are in a trace of their own, of which so large a `share` is kept.
    #[must_use]
    pub fn of_attempt(message: &Message, share: f64, entropy: u64) -> Self {
        let span = entropy.max(1);
        match Self::of_message(message) {
            Some(parent) => Self { span, ..parent },
            None => {
                let trace = message.id.bits();
                let flags = if is_drawn(trace, share) { SAMPLED } else { 0 };
                Self { trace, span, flags }
            }
        }
    }

    /// The span that a message was inserted in, if it says a valid one.
    #[must_use]
    pub fn of_message(message: &Message) -> Option<Self> {
        Self::parse(message.traceparent.as_deref()?)
    }

    /// Whether whoever began the trace keeps it.
    #[must_use]
    pub const fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The trace, as 32 digits.
    #[must_use]
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace)
    }

    /// The span, as 16 digits.
    #[must_use]
    pub fn span_id(self) -> String {
        format!("{:016x}", self.span)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

/// Whether a trace is among so large a share of all. Its last 56 bits are the random ones, of which a float holds 53.
fn is_drawn(trace: u128, share: f64) -> bool {
    const HELD: u32 = f64::MANTISSA_DIGITS;
    let drawn = (trace >> (56 - HELD)) & ((1 << HELD) - 1);
    (drawn as f64) < share * (1_u64 << HELD) as f64
}

/// An attempt that is traced: what its destination tells others, and what it saw.
#[derive(Debug)]
pub struct Span {
    /// What is told to the destination.
    pub context: TraceParent,
    http: OnceLock<HttpExchange>,
}

/// What an attempt over HTTP was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpExchange {
    /// The method.
    pub method: String,
    /// Scheme, host and port. With many services the path is a secret.
    pub origin: String,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// The version of HTTP that was spoken, as `1.1` or `2`, if it is known.
    pub version: Option<&'static str>,
}

impl Span {
    /// A span that begins.
    #[must_use]
    pub const fn new(context: TraceParent) -> Self {
        Self {
            context,
            http: OnceLock::new(),
        }
    }

    /// Keeps what the attempt was. The first word counts.
    pub fn exchanged(&self, exchange: impl FnOnce() -> HttpExchange) {
        if self.context.is_sampled() {
            self.http.get_or_init(exchange);
        }
    }

    /// What the attempt was, if it was one over HTTP.
    #[must_use]
    pub fn http(&self) -> Option<&HttpExchange> {
        self.http.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, NewMessage, Timestamp};

    const TOLD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn message(traceparent: Option<&str>) -> Message {
        let new = NewMessage::to("billing");
        let id = MessageId::new(42, 0x1234_5678_9abc_def0);
        let mut message = Message::of(&new, id, Timestamp::default());
        message.traceparent = traceparent.map(str::to_owned);
        message
    }

    #[test]
    fn only_what_the_standard_says_is_a_parent() {
        for (told, valid) in [
            (TOLD.to_owned(), true),
            (TOLD.replace("-01", "-00"), true),
            (TOLD.replacen("00", "cc", 1), true),
            (format!("{}-more", TOLD.replacen("00", "01", 1)), true),
            (format!("{TOLD}-more"), false),
            (format!("{}more", TOLD.replacen("00", "01", 1)), false),
            (TOLD.replacen("00", "ff", 1), false),
            (TOLD.to_uppercase(), false),
            (TOLD.replace("b7ad6b7169203331", "0000000000000000"), false),
            (
                TOLD.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
                false,
            ),
            (TOLD.replace('b', "+"), false),
            (TOLD[..54].to_owned(), false),
            (format!("{}é", &TOLD[..54]), false),
            (String::new(), false),
        ] {
            assert_eq!(TraceParent::parse(&told).is_some(), valid, "{told}");
        }
        let strange = TraceParent::parse(&TOLD.replace("-01", "-ff")).unwrap();
        assert!(strange.to_string().ends_with("-03"));
    }

    #[test]
    fn an_attempt_is_a_child_and_keeps_to_what_its_parent_decided() {
        let parent = TraceParent::parse(TOLD).unwrap();
        let attempt = TraceParent::of_attempt(&message(Some(TOLD)), 0.0, 7);
        assert_eq!(attempt.trace_id(), parent.trace_id());
        assert_eq!(attempt.span_id(), "0000000000000007");
        assert!(attempt.is_sampled());
        let unkept = TOLD.replace("-01", "-00");
        assert!(!TraceParent::of_attempt(&message(Some(&unkept)), 1.0, 7).is_sampled());
        assert_eq!(
            TraceParent::of_attempt(&message(Some(TOLD)), 1.0, 0).span_id(),
            "0000000000000001"
        );
    }

    #[test]
    fn without_a_parent_the_attempts_of_a_message_are_one_trace() {
        let orphan = message(Some("no traceparent"));
        let (first, second) = (
            TraceParent::of_attempt(&orphan, 1.0, 7),
            TraceParent::of_attempt(&orphan, 1.0, 8),
        );
        assert_eq!(first.trace_id(), second.trace_id());
        assert_eq!(first.trace_id(), orphan.id.to_string().replace('-', ""));
        assert!(TraceParent::parse(&first.to_string()) == Some(first) && first.is_sampled());
        assert!(!TraceParent::of_attempt(&orphan, 0.0, 7).is_sampled());
    }

    #[test]
    fn a_share_of_all_traces_is_kept() {
        let mut state = 1_u64;
        let kept = (0..10_000).filter(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            is_drawn(u128::from(state >> 8), 0.25)
        });
        assert!((2_300..2_700).contains(&kept.count()));
        assert!(is_drawn(u128::MAX, 1.0) && !is_drawn(0, 0.0));
    }
}
