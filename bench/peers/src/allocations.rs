//! Counts allocations, so that "allocates nothing" is a number.
//!
//! The only unsafe code in this workspace: `GlobalAlloc` is an unsafe trait, and there is no other way to see
//! every allocation of someone else's crate. Each method hands its arguments to the system's allocator unchanged.
#![expect(unsafe_code, reason = "a global allocator can be written in no other way")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Constant and without a destructor, so that touching it never allocates in turn.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    let _ = ALLOCATIONS.try_with(|made| made.set(made.get() + 1));
}

struct Counting;

// SAFETY: every call is forwarded to `System`, which upholds the contract; counting touches no memory of the caller's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's own promise about `layout`, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: `place` came from `System.alloc` above with the same layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as for `dealloc`, and the caller's own promise about `size`.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations made by this thread so far.
pub(crate) fn so_far() -> u64 {
    ALLOCATIONS.with(Cell::get)
}
