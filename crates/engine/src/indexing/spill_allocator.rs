//! Memory for tables that may grow with an upload: up to a bound from the process, beyond it from files.
//!
//! What lies in a file is not anonymous memory: the system writes it out when it needs the room. The files have no
//! name, so nothing of them outlives the process, and their blocks are there before they are mapped, so that a full
//! disk is an error here and no signal later.

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

/// An allocator whose large blocks lie in unnamed files beyond a bound. Clones share the bound.
#[derive(Clone)]
pub struct SpillAllocator {
    inner: Arc<Inner>,
}

struct Inner {
    /// Where files lie; the directory is there.
    directory: PathBuf,
    /// Bytes of large pieces that the process gives.
    bound: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    /// Bytes of large pieces from the process.
    held: usize,
    /// Pieces in files, by address.
    mapped: HashMap<usize, MmapMut>,
}

/// Smaller pieces always come from the process, in bytes: a file each would cost more than it saves.
const LARGE_BYTES_MIN: usize = 1 << 20;

impl SpillAllocator {
    /// `bound`: bytes from the process, beside small pieces. Files lie below `path` or, as long as it is not
    /// there, in the first directory above it that is.
    pub fn new(path: &Path, bound: usize) -> Self {
        let directory = path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
        Self { inner: Arc::new(Inner { directory: directory.to_owned(), bound, taken: Mutex::default() }) }
    }

    /// Bytes of large pieces that the process has given.
    pub fn held_bytes(&self) -> usize {
        self.taken().held
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.inner.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the process gives a piece of `new` bytes in place of one of `old`; then it is counted.
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

    fn is_mapped(&self, piece: NonNull<u8>, bytes: usize) -> bool {
        bytes >= LARGE_BYTES_MIN && self.taken().mapped.contains_key(&piece.addr().get())
    }

    fn map(&self, bytes: usize) -> io::Result<NonNull<[u8]>> {
        let file = tempfile::tempfile_in(&self.inner.directory)?;
        file.allocate(bytes as u64)?;
        // SAFETY: no other process can open a file without a name, so it is neither changed nor cut.
        let mut map = unsafe { memmap2::MmapOptions::new().len(bytes).map_mut(&file)? };
        let piece = NonNull::new(map.as_mut_ptr()).ok_or(io::ErrorKind::OutOfMemory)?;
        self.taken().mapped.insert(piece.addr().get(), map);
        Ok(NonNull::slice_from_raw_parts(piece, bytes))
    }
}

impl fmt::Debug for SpillAllocator {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let taken = self.taken();
        write!(text, "SpillAllocator {{ held: {}, files: {} }}", taken.held, taken.mapped.len())
    }
}

// SAFETY: a block comes from `Global` or is a mapping held in `mapped` until it is freed, so it is valid, does not move
// and belongs to its owner alone; its address tells whether `Global` or a mapping made it. Clones share `inner`.
// Mappings begin at pages, which is a stricter alignment than any table here asks for; anything beyond is refused.
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

    unsafe fn deallocate(&self, piece: NonNull<u8>, layout: Layout) {
        if self.is_mapped(piece, layout.size()) {
            let map = self.taken().mapped.remove(&piece.addr().get());
            drop(map);
            return;
        }
        self.hold(layout.size(), 0);
        // SAFETY: what is not mapped came from there, with this layout.
        unsafe { Global.deallocate(piece, layout) }
    }

    unsafe fn grow(&self, piece: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if !self.is_mapped(piece, old.size()) && self.hold(old.size(), new.size()) {
            // SAFETY: what is not mapped came from there, with this layout; the caller keeps the rest.
            let grown = unsafe { Global.grow(piece, old, new) };
            return grown.inspect_err(|_| _ = self.hold(new.size(), old.size()));
        }
        let grown = self.allocate(new)?;
        // SAFETY: both are valid for the shorter length, and a new piece overlaps no other.
        unsafe {
            piece.copy_to_nonoverlapping(grown.cast(), old.size());
            self.deallocate(piece, old);
        }
        Ok(grown)
    }
}

/// No system has smaller pages.
const PAGE_BYTES_MIN: usize = 4096;

#[cfg(test)]
mod tests {
    use allocator_api2::vec::Vec;

    use super::*;

    #[test]
    fn what_is_beyond_the_bound_lies_in_files_and_reads_the_same() {
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
    fn a_disk_without_room_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let spill = SpillAllocator::new(directory.path(), 0);
        let mut bytes: Vec<u8, SpillAllocator> = Vec::new_in(spill.clone());
        bytes.try_reserve(10).unwrap();
        bytes.try_reserve(1 << 50).unwrap_err();
        bytes.push(1);
        assert_eq!((spill.held_bytes(), &bytes[..]), (0, &[1][..]));
    }
}
