//! A sealed graph over the vectors of a stretch of a log: it proposes neighbours and never changes.
//!
//! Keys are docid:32 ‖ slot:8 ‖ the low 24 bits of the record's sequence number. A key whose record was
//! replaced since is dead and is not proposed; one that seems alive by chance costs a comparison, no more,
//! because every proposal is compared anew with the vectors of the log.
//!
//! ```text
//! file   = "SIFTGRF2" dimensions:u32 0:u32 from:u64 to:u64 keys:u64 bytes:u64 crc32:u32 0:u32 graph
//! ```
//!
//! The checksum covers all of the file but itself. A file that does not check out is made anew.
//! The graph compares codes (`codes.rs`) by a function of ours.

use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::codes::{code_bytes, code_distance, has_direction};
use super::limits::{CONNECTIVITY, EXPANSION_ADD, LIST_MIN};
use super::set::VectorSet;
use super::table::Place;
use crate::error::{Context, Error, Result};

const MAGIC: &[u8; 8] = b"SIFTGRF2";
const HEADER_BYTES: usize = 56;
const CRC_AT: usize = 48;

/// The vectors of the records whose sequence numbers lie in a range.
pub struct Graph {
    index: Index,
    dimensions: usize,
    covers: Range<u64>,
    keys: u64,
    slots: Slots,
}

/// A key that was proposed, or asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// Of a vector of a record.
    pub fn new(docid: u32, slot: usize, sequence: u64) -> Self {
        Self(u64::from(docid) << 32 | (slot as u64 & 0xff) << 24 | sequence & SEQUENCE_MASK)
    }

    /// Whose vector.
    pub fn docid(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether it may be of record `sequence`.
    pub fn is_of(self, sequence: u64) -> bool {
        self.0 & SEQUENCE_MASK == sequence & SEQUENCE_MASK
    }
}

const SEQUENCE_MASK: u64 = 0xff_ffff;

impl Graph {
    /// Builds a graph over the records of `set` that `covers` says. They lie at `places`; `onto` holds those
    /// before. None if told to stop.
    ///
    /// # Errors
    /// Internal, if memory does not suffice.
    pub fn build(
        set: &VectorSet,
        covers: Range<u64>,
        places: &[(u32, Place)],
        onto: Option<&Self>,
        stop: &AtomicBool,
    ) -> Result<Option<Self>> {
        let dimensions = set.shape().dimensions;
        let vectors: usize = places.iter().map(|(_, place)| place.count()).sum();
        let mut graph = match onto {
            Some(graph) => graph.copy(covers, vectors)?,
            None => Self::empty(dimensions, covers)?.comparing()?.reserved(vectors)?,
        };
        for (docid, place) in places {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            for (slot, code) in set.codes(*place).enumerate().filter(|(_, code)| has_direction(code)) {
                let key = Key::new(*docid, slot, place.sequence());
                graph.index.add(key.0, code).context(FAILED)?;
                graph.keys += 1;
            }
        }
        Ok(Some(graph))
    }

    /// One that more can be added to. This one may be searched meanwhile.
    fn copy(&self, covers: Range<u64>, more: usize) -> Result<Self> {
        let mut bytes = vec![0u8; self.index.serialized_length()];
        self.index.save_to_buffer(&mut bytes).context(FAILED)?;
        Self::read(&bytes, self.dimensions, covers, self.keys)?.reserved(self.keys as usize + more)
    }

    fn read(bytes: &[u8], dimensions: usize, covers: Range<u64>, keys: u64) -> Result<Self> {
        let graph = Self::empty(dimensions, covers)?;
        graph.index.load_from_buffer(bytes).context(FAILED)?;
        Self { keys, ..graph }.comparing()
    }

    fn empty(dimensions: usize, covers: Range<u64>) -> Result<Self> {
        let options = IndexOptions {
            dimensions: code_bytes(dimensions),
            metric: MetricKind::IP,
            quantization: ScalarKind::I8,
            connectivity: CONNECTIVITY,
            expansion_add: EXPANSION_ADD,
            expansion_search: LIST_MIN,
            multi: false,
        };
        let index = Index::new(&options).context(FAILED)?;
        Ok(Self { index, dimensions, covers, keys: 0, slots: Slots::default() })
    }

    /// Sets the function that compares; reading a graph sets the library's own.
    fn comparing(mut self) -> Result<Self> {
        let bytes = code_bytes(self.dimensions);
        let distance = move |a: *const i8, b: *const i8| {
            // SAFETY: the library compares vectors of the index and queries, both of which it was given as
            // codes of this many bytes, and neither is changed or freed while it does.
            let (a, b) =
                unsafe { (std::slice::from_raw_parts(a, bytes), std::slice::from_raw_parts(b, bytes)) };
            code_distance(a, b)
        };
        <i8 as usearch::VectorType>::change_metric(&mut self.index, Box::new(distance)).context(FAILED)?;
        Ok(self)
    }

    fn reserved(self, vectors: usize) -> Result<Self> {
        self.index.reserve_capacity_and_threads(vectors.max(1), SEARCHES_MAX).context(FAILED)?;
        Ok(self)
    }

    /// Sequence numbers of the records in it.
    pub fn covers(&self) -> &Range<u64> {
        &self.covers
    }

    /// Vectors in it, dead ones included.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Bytes it takes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.index.memory_usage()
    }

    /// Proposes `wanted` neighbours of the vector with the code `query` among the keys that `admit` lets through.
    pub fn propose(&self, query: &[i8], wanted: usize, admit: impl Fn(Key) -> bool) -> Result<Vec<Key>> {
        let _slot = self.slots.enter();
        // Unwinding through the library would end the process; a key that cannot be judged is not admitted.
        let admit = |key: u64| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| admit(Key(key)))).unwrap_or(false)
        };
        let found = self.index.filtered_search(query, wanted, admit).context("a graph of vectors failed")?;
        Ok(found.keys.into_iter().map(Key).collect())
    }

    /// The same among all keys.
    pub fn propose_any(&self, query: &[i8], wanted: usize) -> Result<Vec<Key>> {
        let _slot = self.slots.enter();
        let found = self.index.search(query, wanted).context("a graph of vectors failed")?;
        Ok(found.keys.into_iter().map(Key).collect())
    }

    /// Writes and syncs it under a name of its own, then renames it to `path`.
    pub fn save(&self, path: &Path) -> Result<()> {
        let context = || format!("{} could not be written", path.display());
        let mut bytes = vec![0u8; HEADER_BYTES + self.index.serialized_length()];
        self.index.save_to_buffer(&mut bytes[HEADER_BYTES..]).context(context())?;
        let length = bytes.len() as u64;
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&(self.dimensions as u32).to_le_bytes());
        for (at, number) in [(16, self.covers.start), (24, self.covers.end), (32, self.keys), (40, length)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        let crc = checksum(&bytes).to_le_bytes();
        bytes[CRC_AT..CRC_AT + 4].copy_from_slice(&crc);
        let temporary = path.with_extension("new");
        let mut file = File::create(&temporary).context(context())?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).context(context())?;
        fs::rename(&temporary, path).context(context())
    }

    /// Reads what [`Graph::save`] wrote.
    ///
    /// # Errors
    /// Internal, naming the file, if it is of another kind or damaged: it is to be made anew.
    pub fn load(path: &Path, dimensions: usize) -> Result<Self> {
        let context = || format!("{} could not be read", path.display());
        let file = File::open(path).context(context())?;
        // SAFETY: a graph is written under another name and never changed once it has its own.
        let bytes = unsafe { memmap2::Mmap::map(&file) }.context(context())?;
        let wrong = |reason: &str| Err(Error::internal(context(), reason.to_owned()));
        if bytes.len() < HEADER_BYTES || bytes[..8] != *MAGIC {
            return wrong("it is no graph of vectors");
        }
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        // Nothing reaches the library that we did not write.
        if long(40) != bytes.len() as u64 || checksum(&bytes) != short(CRC_AT) {
            return wrong("it does not match its checksum");
        }
        if short(8) as usize != dimensions {
            return wrong("its vectors are of another length");
        }
        let keys = long(32);
        Self::read(&bytes[HEADER_BYTES..], dimensions, long(16)..long(24), keys)?.reserved(keys as usize)
    }
}

const FAILED: &str = "a graph of vectors could not be built";

/// The checksum of a file, without the place where it is written.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..CRC_AT]);
    crc.update(&bytes[CRC_AT + 4..]);
    crc.finalize()
}

/// Searches of one graph at a time. The library lends each a numbered place and has no more of them.
const SEARCHES_MAX: usize = 16;

struct Slots {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Default for Slots {
    fn default() -> Self {
        Self { free: Mutex::new(SEARCHES_MAX), freed: Condvar::new() }
    }
}

struct Slot<'s>(&'s Slots);

impl Slots {
    fn enter(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
