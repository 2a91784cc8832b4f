//! The vectors of an embedder, as a commit sees them.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::bounds::Bounds;
use super::codes::{CODED_MAX, Codes, SIDE_BY_SIDE, code_bounds, fetch};
use super::distance::{Probe, floats};
use super::flags::Flags;
use super::limits::EXACT_MAX;
use super::log::{HEADER_BYTES, Log, Record, Shape};
use super::recent::Recent;
use super::sent::DocumentVectors;
use super::vector_locations::{VectorLocation, VectorLocations};
use crate::error::Result;

/// The vectors of an embedder. Immutable.
#[derive(Clone)]
pub struct VectorSet {
    log: Log,
    recent: Recent,
    locations: VectorLocations,
    codes: Codes,
    flags: Flags,
    vectors: u64,
    /// Documents with a vector of length 0, which is near to all others.
    undirected: RoaringBitmap,
    /// Number of the next record.
    sequence: u64,
    /// Bytes of records that were not replaced.
    live_bytes: u64,
}

impl VectorSet {
    /// Creates a set without vectors, over a log without records.
    pub fn new(log: Log, sequence: u64) -> Self {
        Self {
            recent: Recent::default(),
            log,
            locations: VectorLocations::default(),
            codes: Codes::default(),
            flags: Flags::default(),
            vectors: 0,
            undirected: RoaringBitmap::new(),
            sequence,
            live_bytes: 0,
        }
    }

    /// Reads a complete log.
    ///
    /// # Errors
    /// Internal, naming the file, if it is damaged.
    pub fn read(log: Log, sequence: u64) -> Result<Self> {
        let mut records = Vec::new();
        log.each(0, |record| records.push(record))?;
        Ok(Self::new(log, sequence).with(records))
    }

    /// Returns these vectors over a longer log.
    pub fn continued(&self, log: Log, sequence: u64) -> Self {
        Self { log, sequence, ..self.clone() }
    }

    /// Adds `records`, which the log contains.
    pub fn with(mut self, records: impl IntoIterator<Item = Record>) -> Self {
        records.into_iter().for_each(|record| self.take(record));
        self
    }

    fn take(&mut self, record: Record) {
        let docid = record.docid;
        let before = self.locations.get(docid);
        self.vectors -= before.count() as u64;
        if before != VectorLocation::default() {
            self.live_bytes -= self.record_bytes(docid, before.count());
        }
        self.recent.note(docid, record.count > 0);
        let code = self.encode(&record);
        let location = VectorLocation::new(record.offset, record.sequence, record.count, code);
        self.locations.put(docid, if record.gone { VectorLocation::default() } else { location });
        self.vectors += u64::from(record.count);
        self.live_bytes += if record.gone { 0 } else { record.bytes };
        self.flags.put(docid, record.count > 0, record.user_provided, record.skip_regenerate);
        self.flags.put_fragments(docid, self.log.fragments(&record));
        let undirected = !self.shape().binary
            && (0..usize::from(record.count)).any(|slot| self.has_no_direction(location, slot));
        if undirected {
            self.undirected.insert(docid)
        } else {
            self.undirected.remove(docid)
        };
    }

    /// Adds codes for the vectors of a record. Returns the index of the first code.
    fn encode(&mut self, record: &Record) -> u32 {
        let mut first = None;
        let count = if self.is_coded() { usize::from(record.count) } else { 0 };
        for slot in 0..count {
            let code = self.codes.push(&floats(self.log.vector(record.offset, slot))[1..]);
            first.get_or_insert(code);
        }
        first.unwrap_or(0)
    }

    /// Returns true if vectors have codes. Binary vectors need none: they are as short as codes.
    pub fn is_coded(&self) -> bool {
        !self.shape().binary && self.shape().dimensions <= CODED_MAX
    }

    fn record_bytes(&self, docid: u32, count: usize) -> u64 {
        let fragments = if self.flags.is_fragmented(docid) { count } else { 0 };
        Record::bytes_of(self.shape(), count) + fragments as u64
    }

    fn has_no_direction(&self, location: VectorLocation, slot: usize) -> bool {
        self.log.vector(location.offset, slot)[..4] == 0f32.to_le_bytes()
    }

    /// Returns the format of its vectors.
    pub fn shape(&self) -> Shape {
        self.log.shape()
    }

    /// Returns the log of its vectors.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns true if there are enough vectors for graphs to be useful.
    pub fn wants_graphs(&self) -> bool {
        self.is_coded() && self.vectors > EXACT_MAX
    }

    /// Returns the documents with records from the number `reached` on.
    pub fn since(&self, reached: u64) -> Arc<RoaringBitmap> {
        self.recent.get(reached, || {
            let embedded = self.flags.embedded.iter();
            embedded.filter(|docid| self.locations.get(*docid).sequence() >= reached).collect()
        })
    }

    /// Returns the number of the next record.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns sets of documents by property.
    pub fn flags(&self) -> &Flags {
        &self.flags
    }

    /// Returns the number of vectors of all documents.
    pub fn vectors(&self) -> u64 {
        self.vectors
    }

    /// Returns the documents with a vector of length 0.
    pub fn undirected(&self) -> &RoaringBitmap {
        &self.undirected
    }

    /// Returns true if most of the log consists of replaced records.
    pub fn is_mostly_dead(&self) -> bool {
        self.log.end() > LOG_BYTES_MIN && self.live_bytes < self.log.end() / 2
    }

    /// Returns true if the log contains replaced records.
    pub fn has_dead(&self) -> bool {
        self.live_bytes + HEADER_BYTES < self.log.end()
    }

    /// Returns the location of the vectors of a document.
    pub fn location(&self, docid: u32) -> VectorLocation {
        self.locations.get(docid)
    }

    /// Returns the vectors and flags of a document; `None` if it has neither.
    pub fn get(&self, docid: u32) -> Option<DocumentVectors> {
        let user_provided = self.flags.user_provided.contains(docid);
        let skip_regenerate = self.flags.skip_regenerate.contains(docid);
        if !self.flags.knows(docid) {
            return None;
        }
        let rows = self.stored(docid).flat_map(|vector| self.shape().components(vector)).collect();
        let location = self.locations.get(docid);
        let fragments = self.flags.is_fragmented(docid);
        let fragments = fragments.then(|| self.log.fragments_at(location.offset, location.count()).to_vec());
        Some(DocumentVectors { user_provided, skip_regenerate, rows, fragments })
    }

    /// Returns the stored vectors of a document.
    pub fn stored(&self, docid: u32) -> impl Iterator<Item = &[u8]> {
        let location = self.locations.get(docid);
        (0..location.count()).map(move |slot| self.log.vector(location.offset, slot))
    }

    /// Prefetches the vectors of a document, to be compared soon.
    pub fn fetch(&self, docid: u32) {
        self.stored(docid).for_each(fetch);
    }

    /// Returns the codes of the vectors of a document, if vectors have codes.
    pub fn codes(&self, location: VectorLocation) -> impl Iterator<Item = &[i8]> {
        let dimensions = self.shape().dimensions;
        (0..location.count() as u32).map(move |slot| self.codes.get(location.code + slot, dimensions))
    }

    /// Adds to `out`, for each of `docids`, bounds of the least distance between its vectors and those with the codes
    /// `probes`. All documents must have vectors with codes.
    pub fn bounds(&self, docids: &[u32], probes: &[Vec<i8>], out: &mut Vec<Bounds>) {
        let (first, dimensions) = (out.len(), self.shape().dimensions);
        out.extend(docids.iter().map(|docid| Bounds {
            docid: *docid,
            lower: f32::INFINITY,
            upper: f32::INFINITY,
        }));
        // For each code: the index of its document in `docids`, and the index of the code.
        let mut owners: Vec<(u32, u32)> = Vec::with_capacity(docids.len() + SIDE_BY_SIDE);
        for (at, docid) in docids.iter().enumerate() {
            owners.extend(self.locations.codes(*docid).map(|code| (at as u32, code)));
        }
        let Some(any) = owners.first().copied() else { return };
        // Pads the last group with a repeated code.
        owners.resize(owners.len().next_multiple_of(SIDE_BY_SIDE), any);
        let (groups, _) = owners.as_chunks::<SIDE_BY_SIDE>();
        let code = |code: u32| self.codes.get(code, dimensions);
        let fetch_all =
            |group: &[(u32, u32); SIDE_BY_SIDE]| group.iter().for_each(|owner| fetch(code(owner.1)));
        fetch_all(&groups[0]);
        for (at, group) in groups.iter().enumerate() {
            if let Some(next) = groups.get(at + 1) {
                fetch_all(next);
            }
            let side_by_side = group.map(|owner| code(owner.1));
            for probe in probes {
                for ((at, _), (lower, upper)) in group.iter().zip(code_bounds(probe, side_by_side)) {
                    let bounds = &mut out[first + *at as usize];
                    (bounds.lower, bounds.upper) = (bounds.lower.min(lower), bounds.upper.min(upper));
                }
            }
        }
        if !self.undirected.is_empty() {
            let near = out[first..].iter_mut().filter(|bounds| self.undirected.contains(bounds.docid));
            near.for_each(|bounds| (bounds.lower, bounds.upper) = (0.0, 0.0));
        }
    }

    /// Returns the least distance between the vectors of a document and `probes`; `None` if it has no vector.
    pub fn distance(&self, docid: u32, probes: &[Probe]) -> Option<f32> {
        let mut least: Option<f32> = None;
        for stored in self.stored(docid) {
            for probe in probes {
                let distance = probe.distance(stored);
                least = Some(least.map_or(distance, |least| least.min(distance)));
            }
        }
        least
    }

    /// Returns the documents with vectors, and the locations of these, in the order of the log.
    pub fn locations(&self) -> Vec<(u32, VectorLocation)> {
        let embedded = self.flags.embedded.iter();
        let mut locations: Vec<(u32, VectorLocation)> =
            embedded.map(|docid| (docid, self.locations.get(docid))).collect();
        locations.sort_unstable_by_key(|(_, location)| location.sequence());
        locations
    }

    /// Returns live records in the order of the log.
    pub fn records(&self) -> Result<Vec<Record>> {
        let mut live = Vec::new();
        self.log.each(0, |record| {
            let location = self.locations.get(record.docid);
            if location != VectorLocation::default() && location.sequence() == record.sequence {
                live.push(record);
            }
        })?;
        Ok(live)
    }
}

impl std::fmt::Debug for VectorSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} vectors of {}", self.vectors, self.log.path().display())
    }
}

/// Logs below this size are not worth rewriting, in bytes.
const LOG_BYTES_MIN: u64 = 1 << 20;
