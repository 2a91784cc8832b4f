//! The allocator of the engine: mimalloc, except for large zeroed blocks.
//!
//! tantivy allocates about eight zeroed blocks of a megabyte to write a segment, and uses next to nothing of them for a
//! single document. Used memory must be overwritten with zeros completely, and each page that was returned to the
//! system must be fetched again first: half of the time of a small commit. Memory fresh from the system is already
//! zero, and only the pages in use are fetched.
//!
//! Pages are small (`no_thp` in Cargo.toml). With huge pages, the default of the library, the system zeroes a complete
//! page when a thread touches its first byte: that took most of a first search.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys::{mi_malloc, mi_realloc, mi_zalloc};
use mimalloc::MiMalloc;

/// The allocator, see the module.
pub struct Memory;

/// Smaller blocks are overwritten faster than they are mapped.
const MAPPED_BYTES_MIN: usize = 1 << 20;

/// Any block of at least this size is aligned to a multiple of it. Source: `MI_MAX_ALIGN_SIZE` of the library. For
/// requests with an alignment the library takes a slower path, and more memory for most sizes above a kilobyte.
const ALIGNED_ANYWAY: usize = 16;

/// Milliseconds after which free memory is returned to the system. The library's third version waits a second. This
/// holds up to a fifth of the memory of a capped load, which counts as used while we hold it. Ten milliseconds are
/// shorter than the pause between small commits, which would then fetch the memory again.
const FREE_BEFORE_RETURNED: std::ffi::c_long = 100;

/// `mi_option_purge_delay`, which the binding does not define.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Returns free memory to the system earlier than the library does by default.
pub fn return_free_memory_soon() {
    // SAFETY: sets a number in a table of the allocator, read at each use.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, FREE_BEFORE_RETURNED) };
}

// SAFETY: a block is either mimalloc's or its own mapping. mimalloc recognises its blocks by their address; it is asked
// only about blocks large enough to be mappings. Mappings begin at page boundaries, and blocks with a larger alignment
// are mimalloc's. No function panics.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_aligned_anyway(layout) {
            // SAFETY: the size is the only requirement.
            true => unsafe { mi_malloc(layout.size()).cast() },
            // SAFETY: the caller fulfils the contract.
            false => unsafe { MiMalloc.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match layout.size() < MAPPED_BYTES_MIN || layout.align() > mapping::PAGE_BYTES_MIN {
            // SAFETY: the size is the only requirement.
            true if is_aligned_anyway(layout) => unsafe { mi_zalloc(layout.size()).cast() },
            // SAFETY: the caller fulfils the contract.
            true => unsafe { MiMalloc.alloc_zeroed(layout) },
            false => mapping::new(layout.size()),
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match is_mapping(piece, layout) {
            // SAFETY: the block was allocated there with this layout.
            true => unsafe { mapping::free(piece, layout.size()) },
            // SAFETY: same as above.
            false => unsafe { MiMalloc.dealloc(piece, layout) },
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if !is_mapping(piece, layout) {
            if layout.align() <= ALIGNED_ANYWAY && layout.align() <= bytes {
                // SAFETY: the block is mimalloc's, and unused after another one is returned.
                return unsafe { mi_realloc(piece.cast(), bytes).cast() };
            }
            // SAFETY: the block was allocated there with this layout.
            return unsafe { MiMalloc.realloc(piece, layout, bytes) };
        }
        // SAFETY: `bytes` with this alignment is a layout, by the caller's contract. The copied bytes are within both
        // blocks, which are distinct. The old block was allocated there with this layout.
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
    // SAFETY: looks up the address in a table without reading the memory.
    layout.size() >= MAPPED_BYTES_MIN && !unsafe { libmimalloc_sys::mi_is_in_heap_region(piece.cast()) }
}

#[cfg(unix)]
mod mapping {
    /// The smallest page size of all systems.
    pub const PAGE_BYTES_MIN: usize = 4096;

    /// Maps `bytes` zeroed bytes. Returns null if there is no memory.
    pub fn new(bytes: usize) -> *mut u8 {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: maps new memory at an address chosen by the system.
        let piece = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        if piece == libc::MAP_FAILED { std::ptr::null_mut() } else { piece.cast() }
    }

    /// # Safety
    /// `piece` was returned by [`new`] for the same `bytes`, and is not used afterwards.
    pub unsafe fn free(piece: *mut u8, bytes: usize) {
        // SAFETY: by the caller's contract.
        unsafe { libc::munmap(piece.cast(), bytes) };
    }
}

/// On other systems all blocks are mimalloc's, because no alignment is 0.
#[cfg(not(unix))]
mod mapping {
    pub const PAGE_BYTES_MIN: usize = 0;

    pub fn new(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }

    /// # Safety
    /// Never called: there are no mappings.
    pub unsafe fn free(_: *mut u8, _: usize) {}
}
