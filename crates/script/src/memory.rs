//! Measures the memory and stack of a thread.
//!
//! A script has many values that share data, so only the allocator knows their total size. Each thread counts
//! separately; a script runs on a single thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with counters.
pub struct Counted;

thread_local! {
    /// Bytes allocated minus bytes freed.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// An allocation with the stack below this address counts as deep. 0: none does.
    static FLOOR: Cell<usize> = const { Cell::new(0) };
    static WENT_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Bytes that this thread has allocated and not freed. Negative if it frees memory of other threads.
pub fn held() -> isize {
    HELD.get()
}

/// From now on, allocations more than `bytes` of stack below the caller count as deep.
pub fn watch_stack(bytes: usize) {
    FLOOR.set(stack_address().saturating_sub(bytes));
}

/// Ends [`watch_stack`]. Returns true if an allocation was deep.
pub fn unwatch_stack() -> bool {
    FLOOR.set(0);
    WENT_DEEP.replace(false)
}

/// Returns true if an allocation was deep since the first [`watch_stack`].
pub fn went_deep() -> bool {
    WENT_DEEP.get()
}

#[inline(always)]
fn stack_address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(&here).addr()
}

fn count(bytes: isize) {
    HELD.set(HELD.get().wrapping_add(bytes));
    if stack_address() < FLOOR.get() {
        WENT_DEEP.set(true);
    }
}

// SAFETY: every call is passed to the system's allocator unchanged. The counters are plain thread-local cells without
// allocation or destructor; nothing here panics.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller fulfils the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: same as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout.size().cast_signed().wrapping_neg());
        // SAFETY: same as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes.cast_signed().wrapping_sub(layout.size().cast_signed()));
        // SAFETY: same as above.
        unsafe { System.realloc(block, layout, bytes) }
    }
}
