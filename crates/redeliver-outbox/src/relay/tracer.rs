use std::{fmt, time::Duration};

use crate::{
    Message,
    destination::Outcome,
    store::Verdict,
    trace::{Span, TraceParent},
};

/// Someone who keeps the spans of attempts. It is told within the relay's own loop, and so must not wait for anything.
pub trait Tracer: Send + Sync + fmt::Debug {
    /// How large a share of the traces is kept that begin here, from 0 to 1.
    fn share(&self) -> f64;

    /// An attempt that is to be kept has ended.
    fn ended(&self, attempt: &TracedAttempt<'_>);
}

/// An attempt that has ended, and its place in a trace.
#[derive(Debug)]
pub struct TracedAttempt<'a> {
    /// Its span.
    pub span: &'a Span,
    /// The span that the message was inserted in, if there is one.
    pub parent: Option<TraceParent>,
    /// The message.
    pub message: &'a Message,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// The kind of the destination.
    pub kind: &'static str,
    /// When it began, since 1970.
    pub started: Duration,
    /// How long it took.
    pub took: Duration,
    /// What came of it.
    pub ending: TracedEnding<'a>,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug)]
pub enum TracedEnding<'a> {
    /// This is to be written.
    Judged(&'a Verdict),
    /// It told of the destination alone, and the message is as it was before.
    PutBack(&'a Outcome),
    /// Its shard is somebody else's, who sends the message again.
    Lost(&'a Outcome),
}

/// An attempt that is on its way and to be kept.
pub(super) struct Traced {
    pub(super) span: Span,
    pub(super) started: Duration,
}
