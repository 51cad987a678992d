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

    fn marks(self) -> u8 {
        (u8::from(self.deadline < Moment::FAR_FUTURE) * LIMITED) | (u8::from(self.retried_inside) * RETRIED)
    }
}

/// There is a deadline.
const LIMITED: u8 = 1;
/// The last inner loop has retried in vain.
const RETRIED: u8 = 2;

thread_local! {
    static DEADLINE: Cell<Moment> = const { Cell::new(Moment::FAR_FUTURE) };
    static HAS_BUDGET: Cell<bool> = const { Cell::new(false) };
    /// What a first try has to know of the others, in one word: it looks at nothing else.
    static MARKS: Cell<u8> = const { Cell::new(0) };
    /// Apart from the frame, because a value that must be dropped makes every access dearer.
    static BUDGET: RefCell<Option<Arc<Budget>>> = const { RefCell::new(None) };
}

/// The frame of the attempt that is running on this thread.
#[inline]
pub(crate) fn current() -> Frame {
    Frame {
        deadline: DEADLINE.get(),
        has_budget: HAS_BUDGET.get(),
        retried_inside: MARKS.get() & RETRIED != 0,
    }
}

fn replace(frame: Frame) -> Frame {
    Frame {
        deadline: DEADLINE.replace(frame.deadline),
        has_budget: HAS_BUDGET.replace(frame.has_budget),
        retried_inside: MARKS.replace(frame.marks()) & RETRIED != 0,
    }
}

/// Whether there is a deadline around, or an inner loop has retried in vain.
#[inline]
pub(crate) fn is_eventful() -> bool {
    MARKS.get() != 0
}

/// Whether the attempt that is running on this thread has a deadline.
#[inline]
pub(crate) fn has_deadline() -> bool {
    MARKS.get() & LIMITED != 0
}

/// Takes an inner loop's word back: the attempt has a value after all.
#[cold]
#[inline(never)]
pub(crate) fn forget() {
    report(false);
}

/// Takes an inner loop's word away for as long as its attempt is suspended.
#[cold]
#[inline(never)]
pub(crate) fn suspend() -> bool {
    swap_retried_inside(false)
}

/// The frame as a failed attempt left it, with the inner loops' word taken back.
///
/// Out of line, and called before what may panic: only so does the compiler see that failure is the rare case.
#[cold]
#[inline(never)]
pub(crate) fn leave() -> Frame {
    let frame = current();
    report(false);
    frame
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
    swap_retried_inside(retried_inside);
}

/// Says whether an inner loop has retried in vain, and what was said before.
#[inline]
pub(crate) fn swap_retried_inside(retried_inside: bool) -> bool {
    let before = MARKS.get();
    let after = (before & !RETRIED) | (u8::from(retried_inside) * RETRIED);
    // Mostly nobody has retried anything, and nothing is written.
    if before != after {
        MARKS.set(after);
    }
    before & RETRIED != 0
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
            before: replace(frame),
            budget_before,
        }
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        replace(self.before);
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
    (value, current())
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
        *this.frame = current();
        drop(entered);
        match poll {
            Poll::Ready(output) => Poll::Ready((output, *this.frame)),
            Poll::Pending => Poll::Pending,
        }
    }
}
