//! How much memory does this thread hold, and how deep has it gone?
//!
//! A script's values are many and share what they can, so that only the allocator knows what all of them take. Each
//! thread counts for itself; a script lives and dies in one.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted.
pub struct Counted;

thread_local! {
    /// Bytes allocated less bytes freed.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// Stack address below which an allocation counts as deep; 0: none does.
    static FLOOR: Cell<usize> = const { Cell::new(0) };
    static WENT_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Bytes this thread has allocated and not freed; less than none if it frees what others allocated.
pub fn held() -> isize {
    HELD.get()
}

/// From now on, allocations that stand `bytes` of stack below the caller are deep ones.
pub fn watch_stack(bytes: usize) {
    FLOOR.set(stack_address().saturating_sub(bytes));
}

/// Ends [`watch_stack`]. Returns whether an allocation was deep.
pub fn unwatch_stack() -> bool {
    FLOOR.set(0);
    WENT_DEEP.replace(false)
}

/// Whether an allocation was deep since [`watch_stack`] was first called.
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

// SAFETY: every call goes to the system's allocator as it is. The counters are plain cells of the thread, which need no
// memory and no destructor; nothing here panics.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps to what it promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: likewise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout.size().cast_signed().wrapping_neg());
        // SAFETY: likewise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes.cast_signed().wrapping_sub(layout.size().cast_signed()));
        // SAFETY: likewise.
        unsafe { System.realloc(block, layout, bytes) }
    }
}
