//! A sealed graph over the vectors of a range of a log. It proposes neighbours and never changes.
//!
//! Keys are docid:32 ‖ slot:8 ‖ the low 24 bits of the sequence number of the record. The key of a replaced record is
//! dead and is not proposed. A dead key that is proposed because its low bits match only costs a comparison, because
//! every proposal is compared again by the vectors of the log.
//!
//! ```text
//! file   = "SIFTGRF2" dimensions:u32 0:u32 from:u64 to:u64 keys:u64 bytes:u64 crc32:u32 0:u32 graph
//! ```
//!
//! The checksum covers the file except the checksum itself. A file that does not match it is rebuilt. The graph
//! compares codes (`codes.rs`) with our own function.

use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::bounds::Bounds;
use super::codes::{code_bytes, code_distance, has_direction};
use super::limits::{CONNECTIVITY, EXPANSION_ADD, LIST_MIN};
use super::vector_locations::VectorLocation;
use super::vector_set::VectorSet;
use super::walk::Near;
use super::walkable::Walkable;
use crate::error::{Context, Error, Result};

const MAGIC: &[u8; 8] = b"SIFTGRF2";
const HEADER_BYTES: usize = 56;
const CRC_AT: usize = 48;

/// A graph over the vectors of records with sequence numbers in a range.
pub struct Graph {
    /// Bytes of the file.
    bytes: Vec<u8>,
    walkable: Walkable,
    covers: Range<u64>,
    keys: u64,
}

/// A key of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// Creates the key of a vector of a record.
    pub fn new(docid: u32, slot: usize, sequence: u64) -> Self {
        Self(u64::from(docid) << 32 | (slot as u64 & 0xff) << 24 | sequence & SEQUENCE_MASK)
    }

    /// Returns the document of the vector.
    pub fn docid(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns true if it may belong to the record `sequence`.
    pub fn is_of(self, sequence: u64) -> bool {
        self.0 & SEQUENCE_MASK == sequence & SEQUENCE_MASK
    }
}

const SEQUENCE_MASK: u64 = 0xff_ffff;

impl Graph {
    /// Builds a graph over the records of `set` in `covers`. With `onto`, a graph over earlier records, extends it by
    /// `locations`; otherwise `locations` covers all records. Returns `None` if `stop` was set.
    ///
    /// # Errors
    /// Internal, if there is not enough memory.
    pub fn build(
        set: &VectorSet,
        covers: Range<u64>,
        locations: &[(u32, VectorLocation)],
        onto: Option<&Self>,
        stop: &AtomicBool,
    ) -> Result<Option<Self>> {
        let dimensions = set.shape().dimensions;
        let vectors: usize = locations.iter().map(|(_, location)| location.count()).sum();
        let index = empty(dimensions)?;
        if let Some(graph) = onto {
            index.load_from_buffer(&graph.bytes[HEADER_BYTES..]).context(FAILED)?;
        }
        let mut keys = onto.map_or(0, |graph| graph.keys);
        let index = comparing(index, dimensions)?;
        index.reserve_capacity_and_threads((keys as usize + vectors).max(1), 1).context(FAILED)?;
        for (docid, location) in locations {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            for (slot, code) in set.codes(*location).enumerate().filter(|(_, code)| has_direction(code)) {
                let key = Key::new(*docid, slot, location.sequence());
                index.add(key.0, code).context(FAILED)?;
                keys += 1;
            }
        }
        let mut bytes = vec![0u8; HEADER_BYTES + index.serialized_length()];
        index.save_to_buffer(&mut bytes[HEADER_BYTES..]).context(FAILED)?;
        let length = bytes.len() as u64;
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&(dimensions as u32).to_le_bytes());
        for (at, number) in [(16, covers.start), (24, covers.end), (32, keys), (40, length)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        let crc = checksum(&bytes).to_le_bytes();
        bytes[CRC_AT..CRC_AT + 4].copy_from_slice(&crc);
        Self::of(bytes, dimensions, covers, keys).map(Some)
    }

    fn of(bytes: Vec<u8>, dimensions: usize, covers: Range<u64>, keys: u64) -> Result<Self> {
        let walkable = Walkable::of(&bytes[HEADER_BYTES..], code_bytes(dimensions))?;
        Ok(Self { bytes, walkable, covers, keys })
    }

    /// Returns the sequence numbers of its records.
    pub fn covers(&self) -> &Range<u64> {
        &self.covers
    }

    /// Returns the number of its vectors, dead ones included.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Returns its size in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.walkable.memory_bytes()
    }

    /// Proposes about `wanted` neighbours of the vector with the code `query`, among the keys accepted by `admit`, with
    /// bounds of their distances.
    ///
    /// # Errors
    /// Internal, if the graph is damaged.
    pub fn propose(
        &self,
        query: &[i8],
        wanted: usize,
        list: usize,
        admit: impl Fn(Key) -> bool,
    ) -> Result<Vec<Bounds>> {
        let bytes = &self.bytes[HEADER_BYTES..];
        let found = self.walkable.nearest(bytes, query, wanted, list, |key| admit(Key(key)))?;
        let bounds = found.into_iter().map(|Near { key, bounds: (lower, upper) }| Bounds {
            docid: Key(key).docid(),
            lower,
            upper,
        });
        Ok(bounds.collect())
    }

    /// Writes and syncs a temporary file, then renames it to `path`.
    ///
    /// # Errors
    /// Internal, naming the file, if it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let context = || format!("{} could not be written", path.display());
        let temporary = path.with_extension("new");
        let mut file = File::create(&temporary).context(context())?;
        file.write_all(&self.bytes).and_then(|()| file.sync_all()).context(context())?;
        fs::rename(&temporary, path).context(context())
    }

    /// Reads a file that [`Graph::save`] wrote.
    ///
    /// # Errors
    /// Internal, naming the file, if it is of another kind or damaged. The graph then has to be rebuilt.
    pub fn load(path: &Path, dimensions: usize) -> Result<Self> {
        let context = || format!("{} could not be read", path.display());
        let bytes = fs::read(path).context(context())?;
        let wrong = |reason: &str| Err(Error::internal(context(), reason.to_owned()));
        if bytes.len() < HEADER_BYTES || bytes[..8] != *MAGIC {
            return wrong("it is not a vector graph");
        }
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        // The checksum guarantees that the library reads only bytes written by us.
        if long(40) != bytes.len() as u64 || checksum(&bytes) != short(CRC_AT) {
            return wrong("it does not match its checksum");
        }
        if short(8) as usize != dimensions {
            return wrong("its vectors have other dimensions");
        }
        let (covers, keys) = (long(16)..long(24), long(32));
        Self::of(bytes, dimensions, covers, keys)
    }
}

/// Creates an empty index of the library.
fn empty(dimensions: usize) -> Result<Index> {
    let options = IndexOptions {
        dimensions: code_bytes(dimensions),
        metric: MetricKind::IP,
        quantization: ScalarKind::I8,
        connectivity: CONNECTIVITY,
        expansion_add: EXPANSION_ADD,
        expansion_search: LIST_MIN,
        multi: false,
    };
    Index::new(&options).context(FAILED)
}

/// Sets our comparison function, because loading a graph sets that of the library.
fn comparing(mut index: Index, dimensions: usize) -> Result<Index> {
    let bytes = code_bytes(dimensions);
    let distance = move |a: *const i8, b: *const i8| {
        // SAFETY: the library compares vectors of the index and vectors to be added. All are codes of this many bytes,
        // and none is changed or freed during the call.
        let (a, b) = unsafe { (std::slice::from_raw_parts(a, bytes), std::slice::from_raw_parts(b, bytes)) };
        code_distance(a, b)
    };
    <i8 as usearch::VectorType>::change_metric(&mut index, Box::new(distance)).context(FAILED)?;
    Ok(index)
}

const FAILED: &str = "a graph of vectors could not be built";

/// Returns the checksum of a file, without the bytes of the checksum itself.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..CRC_AT]);
    crc.update(&bytes[CRC_AT + 4..]);
    crc.finalize()
}
