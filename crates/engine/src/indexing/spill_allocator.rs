//! Memory for tables that grow with an upload. Below a limit it comes from the process, above it from files.
//!
//! Memory mapped from a file is not anonymous: the system writes it out when memory is short. The files have no name,
//! so they vanish with the process. Their disk space is allocated before they are mapped, so a full disk is an error
//! here and not a signal later.

use std::alloc::Layout;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allocator_api2::alloc::{AllocError, Allocator, Global};
use fs4::fs_std::FileExt as _;
use memmap2::MmapMut;

/// An allocator that puts large blocks into unnamed files above a limit. Clones share the limit.
#[derive(Clone)]
pub struct SpillAllocator {
    inner: Arc<Inner>,
}

struct Inner {
    /// Directory of the files, which exists.
    directory: PathBuf,
    /// Limit for the bytes of large blocks from the process.
    bound: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    /// Bytes of large blocks from the process.
    held: usize,
    /// Blocks in files, by address.
    mapped: HashMap<usize, MmapMut>,
}

/// Blocks below this size in bytes always come from the process: a file for each would cost more than it saves.
const LARGE_BYTES_MIN: usize = 1 << 20;

impl SpillAllocator {
    /// Creates an allocator. `bound` limits the bytes of large blocks from the process. Files are in `path` or, as long
    /// as it does not exist, in its nearest existing parent directory.
    pub fn new(path: &Path, bound: usize) -> Self {
        let directory = path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
        Self { inner: Arc::new(Inner { directory: directory.to_owned(), bound, taken: Mutex::default() }) }
    }

    /// Returns the bytes of large blocks from the process.
    pub fn held_bytes(&self) -> usize {
        self.taken().held
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.inner.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a block of `new` bytes from the process instead of `old` bytes. Returns false, and counts nothing, if this
    /// exceeds the limit.
    fn hold(&self, old: usize, new: usize) -> bool {
        let counted = |bytes: usize| if bytes < LARGE_BYTES_MIN { 0 } else { bytes };
        let mut taken = self.taken();
        let held = taken.held - counted(old) + counted(new);
        let fits = held <= self.inner.bound || counted(new) == 0;
        if fits {
            taken.held = held;
        }
        fits
    }

    fn is_mapped(&self, block: NonNull<u8>, bytes: usize) -> bool {
        bytes >= LARGE_BYTES_MIN && self.taken().mapped.contains_key(&block.addr().get())
    }

    fn map(&self, bytes: usize) -> io::Result<NonNull<[u8]>> {
        let file = tempfile::tempfile_in(&self.inner.directory)?;
        file.allocate(bytes as u64)?;
        // SAFETY: no other process can open a file without a name, so it is neither changed nor truncated.
        let mut map = unsafe { memmap2::MmapOptions::new().len(bytes).map_mut(&file)? };
        let block = NonNull::new(map.as_mut_ptr()).ok_or(io::ErrorKind::OutOfMemory)?;
        self.taken().mapped.insert(block.addr().get(), map);
        Ok(NonNull::slice_from_raw_parts(block, bytes))
    }
}

impl fmt::Debug for SpillAllocator {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let taken = self.taken();
        write!(text, "SpillAllocator {{ held: {}, files: {} }}", taken.held, taken.mapped.len())
    }
}

// SAFETY: a block comes from `Global` or is a mapping held in `mapped` until it is freed, so it is valid, does not move
// and belongs only to its owner; its address shows where it came from. Clones share `inner`. Mappings begin at
// pages, which is a stricter alignment than any table here requests; stricter requests are refused.
unsafe impl Allocator for SpillAllocator {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if self.hold(0, layout.size()) {
            return Global.allocate(layout).inspect_err(|_| _ = self.hold(layout.size(), 0));
        }
        if layout.align() > PAGE_BYTES_MIN {
            return Err(AllocError);
        }
        self.map(layout.size()).map_err(|_| AllocError)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if self.is_mapped(block, layout.size()) {
            let map = self.taken().mapped.remove(&block.addr().get());
            drop(map);
            return;
        }
        self.hold(layout.size(), 0);
        // SAFETY: a block that is not mapped came from `Global`, with this layout.
        unsafe { Global.deallocate(block, layout) }
    }

    unsafe fn grow(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if !self.is_mapped(block, old.size()) && self.hold(old.size(), new.size()) {
            // SAFETY: a block that is not mapped came from `Global`, with this layout; the caller upholds the contract
            // of `grow`.
            let grown = unsafe { Global.grow(block, old, new) };
            return grown.inspect_err(|_| _ = self.hold(new.size(), old.size()));
        }
        let grown = self.allocate(new)?;
        // SAFETY: both blocks are valid for the length of the old one, and a new block overlaps no other.
        unsafe {
            block.copy_to_nonoverlapping(grown.cast(), old.size());
            self.deallocate(block, old);
        }
        Ok(grown)
    }
}

/// Smallest page size of the supported systems, in bytes.
const PAGE_BYTES_MIN: usize = 4096;

#[cfg(test)]
mod tests {
    use allocator_api2::vec::Vec;

    use super::*;

    #[test]
    fn blocks_above_the_limit_are_in_files_with_the_same_content() {
        let directory = tempfile::tempdir().unwrap();
        let spill = SpillAllocator::new(&directory.path().join("not there yet"), 3 << 20);
        let mut one: Vec<u64, SpillAllocator> = Vec::new_in(spill.clone());
        let mut other: Vec<u64, SpillAllocator> = Vec::new_in(spill.clone());
        for number in 0..1_000_000 {
            one.push(number);
            other.push(number * 3);
        }
        assert!(spill.held_bytes() <= 3 << 20, "{spill:?}");
        assert!(!spill.taken().mapped.is_empty(), "{spill:?}");
        assert!(one.iter().copied().eq(0..1_000_000));
        assert!(other.iter().copied().eq((0..1_000_000).map(|number| number * 3)));
        other.truncate(10);
        other.shrink_to_fit();
        assert_eq!(&other[..], &[0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
        drop((one, other));
        assert_eq!(format!("{spill:?}"), "SpillAllocator { held: 0, files: 0 }");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let spill = SpillAllocator::new(directory.path(), 0);
        let mut bytes: Vec<u8, SpillAllocator> = Vec::new_in(spill.clone());
        bytes.try_reserve(10).unwrap();
        bytes.try_reserve(1 << 50).unwrap_err();
        bytes.push(1);
        assert_eq!((spill.held_bytes(), &bytes[..]), (0, &[1][..]));
    }
}
