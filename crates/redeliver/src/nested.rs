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

thread_local! {
    static FRAME: Cell<Frame> = const { Cell::new(Frame::NONE) };
    /// How often a loop has given up on this thread. Whoever polls an attempt compares before and after: a first try that works costs a load.
    static GIVE_UPS: Cell<u32> = const { Cell::new(0) };
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

/// Tells the loops outside, if there are any, that this one has retried and given up.
pub(crate) fn gave_up() {
    GIVE_UPS.set(GIVE_UPS.get().wrapping_add(1));
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
    let before = GIVE_UPS.get();
    let value = attempt();
    (value, GIVE_UPS.get() != before)
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
        let before = GIVE_UPS.get();
        match this.attempt.poll(context) {
            Poll::Ready(Ok(value)) => Poll::Ready(Ok(value)),
            Poll::Ready(Err(error)) => {
                Poll::Ready(Err((error, *this.inner_gave_up || GIVE_UPS.get() != before)))
            }
            Poll::Pending => {
                *this.inner_gave_up |= GIVE_UPS.get() != before;
                Poll::Pending
            }
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
