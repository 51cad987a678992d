//! Retries happen at one layer. A loop inside another sees the outer one's deadline and budget, and the outer one does not repeat what
//! the inner one has given up.

use std::{
    cell::{Cell, RefCell},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;
use redeliver_policy::{Budget, Moment};

/// What an inner loop can see of the outer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) deadline: Moment,
    /// Whether the budget beside this frame is the outer loop's.
    pub(crate) has_budget: bool,
}

impl Frame {
    /// Nothing outside.
    pub(crate) const NONE: Self = Self {
        deadline: Moment::FAR_FUTURE,
        has_budget: false,
    };
}

/// What the last inner loop said to the one outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// Nothing.
    Silent,
    /// It retried, and gave up.
    GaveUp,
    /// It ended in another way.
    Ended,
}

thread_local! {
    static FRAME: Cell<Frame> = const { Cell::new(Frame::NONE) };
    /// Apart from the frame: a first try clears and reads it without touching the rest.
    static REPORT: Cell<Report> = const { Cell::new(Report::Silent) };
    /// Apart from the frame, because a value that must be dropped makes every access dearer.
    static BUDGET: RefCell<Option<Arc<Budget>>> = const { RefCell::new(None) };
}

/// The frame of the attempt that is running on this thread.
#[inline]
pub(crate) fn current() -> Frame {
    FRAME.get()
}

/// Whether a loop outside of this one has a deadline.
#[inline]
pub(crate) fn has_deadline() -> bool {
    FRAME.with(|frame| frame.get().deadline < Moment::FAR_FUTURE)
}

/// The budget that goes with the current frame.
pub(crate) fn current_budget(frame: Frame) -> Option<Arc<Budget>> {
    if frame.has_budget {
        BUDGET.with_borrow(Clone::clone)
    } else {
        None
    }
}

/// Tells the loop outside, if there is one, how this one ended.
#[inline]
pub(crate) fn report(report: Report) {
    REPORT.set(report);
}

/// Puts a frame in place, and the one before back, even when the attempt panics.
struct Entered {
    before: Frame,
    budget_before: Option<Option<Arc<Budget>>>,
}

impl Entered {
    fn new(frame: Frame, budget: Option<&Arc<Budget>>) -> Self {
        let budget_before = budget.map(|budget| BUDGET.replace(Some(Arc::clone(budget))));
        Self {
            before: FRAME.replace(frame),
            budget_before,
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        FRAME.set(self.before);
        if let Some(before) = self.budget_before.take() {
            BUDGET.set(before);
        }
    }
}

/// Runs a blocking attempt inside a frame, and says whether a loop inside it gave up.
pub(crate) fn enter<T>(frame: Frame, budget: Option<&Arc<Budget>>, attempt: impl FnOnce() -> T) -> (T, bool) {
    let _entered = Entered::new(frame, budget);
    REPORT.set(Report::Silent);
    let value = attempt();
    (value, REPORT.replace(Report::Silent) == Report::GaveUp)
}

pin_project! {
    /// An attempt that is listened to: whether a loop inside it gave up comes back with its error.
    pub(crate) struct Heard<F> {
        #[pin]
        attempt: F,
        inner_gave_up: bool,
    }
}

impl<F> Heard<F> {
    #[inline]
    pub(crate) fn new(attempt: F) -> Self {
        Self {
            attempt,
            inner_gave_up: false,
        }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Future for Heard<F> {
    type Output = Result<T, (E, bool)>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // What another task's loop said on this thread is not for this one.
        REPORT.set(Report::Silent);
        let error = match this.attempt.poll(context) {
            Poll::Ready(Ok(value)) => return Poll::Ready(Ok(value)),
            Poll::Ready(Err(error)) => Some(error),
            Poll::Pending => None,
        };
        match REPORT.replace(Report::Silent) {
            Report::Silent => {}
            report => *this.inner_gave_up = report == Report::GaveUp,
        }
        match error {
            Some(error) => Poll::Ready(Err((error, *this.inner_gave_up))),
            None => Poll::Pending,
        }
    }
}

pin_project! {
    /// An attempt that is polled inside its frame, on whichever thread.
    pub(crate) struct Scoped<'a, F> {
        #[pin]
        attempt: F,
        frame: Frame,
        budget: Option<&'a Arc<Budget>>,
    }
}

impl<'a, F> Scoped<'a, F> {
    pub(crate) fn new(attempt: F, frame: Frame, budget: Option<&'a Arc<Budget>>) -> Self {
        Self {
            attempt,
            frame,
            budget,
        }
    }
}

impl<F: Future> Future for Scoped<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let _entered = Entered::new(*this.frame, *this.budget);
        this.attempt.poll(context)
    }
}
