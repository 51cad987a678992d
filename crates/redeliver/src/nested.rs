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

/// What an inner loop can see of the outer, and what it leaves behind for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) deadline: Moment,
    /// Whether the budget beside this frame is the outer loop's.
    pub(crate) has_budget: bool,
    /// The last inner loop has retried, and has no value to show for it.
    pub(crate) retried_inside: bool,
}

impl Frame {
    /// Nothing outside.
    pub(crate) const NONE: Self = Self {
        deadline: Moment::FAR_FUTURE,
        has_budget: false,
        retried_inside: false,
    };
}

thread_local! {
    static FRAME: Cell<Frame> = const { Cell::new(Frame::NONE) };
    /// Apart from the frame, because a value that must be dropped makes every access dearer.
    static BUDGET: RefCell<Option<Arc<Budget>>> = const { RefCell::new(None) };
}

/// The frame of the attempt that is running on this thread.
#[inline]
pub(crate) fn current() -> Frame {
    FRAME.get()
}

/// The budget that goes with the current frame.
pub(crate) fn current_budget(frame: Frame) -> Option<Arc<Budget>> {
    if frame.has_budget {
        BUDGET.with_borrow(Clone::clone)
    } else {
        None
    }
}

/// Tells the loop outside, if there is one, whether its own retry would be a retry of this one's retries.
#[inline]
pub(crate) fn report(retried_inside: bool) {
    let frame = FRAME.get();
    if frame.retried_inside != retried_inside {
        FRAME.set(Frame {
            retried_inside,
            ..frame
        });
    }
}

/// Puts a frame in place, and the one before back, even when the attempt panics.
struct Entered {
    before: Frame,
    budget_before: Option<Option<Arc<Budget>>>,
}

impl Entered {
    #[inline]
    fn new(frame: Frame, budget: Option<&Arc<Budget>>) -> Self {
        let budget_before = budget.map(|budget| BUDGET.replace(Some(Arc::clone(budget))));
        Self {
            before: FRAME.replace(frame),
            budget_before,
        }
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        FRAME.set(self.before);
        if let Some(before) = self.budget_before.take() {
            BUDGET.set(before);
        }
    }
}

/// Runs a blocking attempt inside a frame; the frame as the attempt left it comes back.
pub(crate) fn enter<T>(
    frame: Frame,
    budget: Option<&Arc<Budget>>,
    attempt: impl FnOnce() -> T,
) -> (T, Frame) {
    let _entered = Entered::new(frame, budget);
    let value = attempt();
    (value, FRAME.get())
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
    #[inline]
    pub(crate) fn new(attempt: F, frame: Frame, budget: Option<&'a Arc<Budget>>) -> Self {
        Self {
            attempt,
            frame,
            budget,
        }
    }

    /// The frame as the attempt last left it.
    pub(crate) const fn frame(&self) -> Frame {
        self.frame
    }
}

impl<F: Future> Future for Scoped<'_, F> {
    type Output = (F::Output, Frame);

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let entered = Entered::new(*this.frame, *this.budget);
        let poll = this.attempt.poll(context);
        *this.frame = FRAME.get();
        drop(entered);
        match poll {
            Poll::Ready(output) => Poll::Ready((output, *this.frame)),
            Poll::Pending => Poll::Pending,
        }
    }
}

pin_project! {
    /// A first try that adds no limit of its own: it runs in the frame that is there, and only keeps its word on inner retries apart.
    pub(crate) struct Unlimited<F> {
        #[pin]
        attempt: F,
        retried_inside: bool,
    }
}

impl<F> Unlimited<F> {
    #[inline]
    pub(crate) const fn new(attempt: F) -> Self {
        Self {
            attempt,
            retried_inside: false,
        }
    }
}

impl<F: Future> Unlimited<F> {
    /// A value, or an error with the frame as the attempt left it; which of them is `judge`'s to say.
    #[inline]
    pub(crate) fn poll_judged<T, E>(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        judge: impl FnOnce(F::Output) -> Result<T, E>,
    ) -> Poll<Result<T, (E, Frame)>> {
        let this = self.project();
        let outer = FRAME.get().retried_inside;
        // Mostly nobody has retried anything, and nothing is written.
        report(*this.retried_inside);
        let poll = this.attempt.poll(context);
        let frame = FRAME.get();
        *this.retried_inside = frame.retried_inside;
        match poll.map(judge) {
            Poll::Ready(Ok(value)) => {
                report(false);
                Poll::Ready(Ok(value))
            }
            Poll::Ready(Err(error)) => {
                report(outer);
                Poll::Ready(Err((error, frame)))
            }
            Poll::Pending => {
                report(outer);
                Poll::Pending
            }
        }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Future for Unlimited<F> {
    type Output = Result<T, (E, Frame)>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_judged(context, std::convert::identity)
    }
}
