//! The memory of the engine, in Rust: mimalloc, but for what is large and has to be zero.
//!
//! tantivy takes some eight pieces of a megabyte, all zeros, to write a segment, and of a single document needs next to
//! nothing of them. Memory that was used before has to be overwritten with zeros, all of it, and if it was given back
//! to the system meanwhile each page has to be got again first: half of the time of a small commit. What comes from the
//! system at once is zero as it is, and only pages that are used are ever got.
//!
//! Pages are small (`no_thp` in Cargo.toml). Huge ones, which the library asks for otherwise, are zeroed as a whole by
//! the system when a thread touches the first byte of one: that took most of a first search.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys::{mi_malloc, mi_realloc, mi_zalloc};
use mimalloc::MiMalloc;

/// See the module.
pub struct Memory;

/// Smaller pieces are sooner overwritten than asked for.
const MAPPED_BYTES_MIN: usize = 1 << 20;

/// Any piece that is as large begins at a multiple of this. Source: `MI_MAX_ALIGN_SIZE` of the library. Asked for an
/// alignment, it takes a longer way, and more memory, for most sizes above a kilobyte.
const ALIGNED_ANYWAY: usize = 16;

/// Memory that is free for so long goes back to the system, in milliseconds. A second, which the library's third version
/// waits, keeps up to a fifth of what a capped load takes: it counts as ours as long as we hold it. Ten milliseconds
/// are less than from one small commit to the next, which then has to get it again.
const FREE_BEFORE_RETURNED: std::ffi::c_long = 100;

/// `mi_option_purge_delay`, for which the binding has no name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Has free memory go back to the system earlier than the library would.
pub fn return_free_memory_soon() {
    // SAFETY: sets a number in a table of the allocator, which is read at each use.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, FREE_BEFORE_RETURNED) };
}

// SAFETY: a piece is mimalloc's or a mapping of its own. Which of both it is, mimalloc tells by its address; only pieces
// that may be mappings by their size are asked about. Mappings begin at pages, and pieces that ask for more are
// mimalloc's. None of it panics.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_aligned_anyway(layout) {
            // SAFETY: asks for no more than that many bytes.
            true => unsafe { mi_malloc(layout.size()).cast() },
            // SAFETY: the caller keeps to what it promises.
            false => unsafe { MiMalloc.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match layout.size() < MAPPED_BYTES_MIN || layout.align() > mapping::PAGE_BYTES_MIN {
            // SAFETY: asks for no more than that many bytes.
            true if is_aligned_anyway(layout) => unsafe { mi_zalloc(layout.size()).cast() },
            // SAFETY: the caller keeps to what it promises.
            true => unsafe { MiMalloc.alloc_zeroed(layout) },
            false => mapping::new(layout.size()),
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match is_mapping(piece, layout) {
            // SAFETY: it came from there with this layout.
            true => unsafe { mapping::free(piece, layout.size()) },
            // SAFETY: likewise.
            false => unsafe { MiMalloc.dealloc(piece, layout) },
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if !is_mapping(piece, layout) {
            if layout.align() <= ALIGNED_ANYWAY && layout.align() <= bytes {
                // SAFETY: it is a piece of the library, and unused once another one is returned.
                return unsafe { mi_realloc(piece.cast(), bytes).cast() };
            }
            // SAFETY: it came from there with this layout.
            return unsafe { MiMalloc.realloc(piece, layout, bytes) };
        }
        // SAFETY: `bytes` with this alignment is a layout, by the caller's promise. What is copied lies within both
        // pieces, which are not one; the old one came from there with this layout.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            if !moved.is_null() {
                piece.copy_to_nonoverlapping(moved, layout.size().min(bytes));
                mapping::free(piece, layout.size());
            }
            moved
        }
    }
}

fn is_aligned_anyway(layout: Layout) -> bool {
    layout.align() <= ALIGNED_ANYWAY && layout.align() <= layout.size()
}

fn is_mapping(piece: *mut u8, layout: Layout) -> bool {
    // SAFETY: it looks the address up in a table, whatever lies there.
    layout.size() >= MAPPED_BYTES_MIN && !unsafe { libmimalloc_sys::mi_is_in_heap_region(piece.cast()) }
}

#[cfg(unix)]
mod mapping {
    /// No system has smaller pages.
    pub const PAGE_BYTES_MIN: usize = 4096;

    /// As many zeros; null if there is no memory.
    pub fn new(bytes: usize) -> *mut u8 {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: it is memory of its own, wherever the system likes.
        let piece = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        if piece == libc::MAP_FAILED { std::ptr::null_mut() } else { piece.cast() }
    }

    /// # Safety
    /// `piece` came from [`new`] for as many `bytes`, and is not used any more.
    pub unsafe fn free(piece: *mut u8, bytes: usize) {
        // SAFETY: by the caller's promise.
        unsafe { libc::munmap(piece.cast(), bytes) };
    }
}

/// Elsewhere all pieces are mimalloc's: none has an alignment of 0.
#[cfg(not(unix))]
mod mapping {
    pub const PAGE_BYTES_MIN: usize = 0;

    pub fn new(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    /// # Safety
    /// Never called: there is no piece to be freed.
    pub unsafe fn free(_: *mut u8, _: usize) {}
}
