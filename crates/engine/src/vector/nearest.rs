//! Finds the nearest documents of a vector among candidates, in order.
//!
//! Graphs only propose documents, which are then ordered by their distances to the vectors of the log. If there are few
//! candidates, all are compared. Source: vectors §10.3–10.5.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use roaring::RoaringBitmap;

use super::bounds::Bounds;
use super::codes::code_of;
use super::distance::{Probe, similarity};
use super::embedder::{Embedder, Shift};
use super::graph::Key;
use super::graphs::{Sealed, reached};
use super::limits::{
    EXACT_MAX, FETCHED_AHEAD, LIST_MAX, LIST_MIN, NARROWED_MIN, NARROWED_SHARE, NEAR_MIN, SCANNED_MAX,
    SHARED_SCAN_MIN, VECTORS_PER_CLOCK_READ, WALK_COST,
};
use super::vector_index::VectorIndex;
use super::vector_set::VectorSet;
use crate::error::Result;
use crate::store::ascending;
use crate::threads::{self, in_parallel};

/// Query vectors to compare documents with, under one embedder.
#[derive(Debug, Clone)]
pub struct Nearest {
    /// `None` if no document has a vector.
    index: Option<VectorIndex>,
    probes: Vec<Probe>,
    /// Codes of the probes. Probes of length 0 have none.
    codes: Vec<Vec<i8>>,
    shift: Option<Shift>,
}

/// Method of finding neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// All candidates are compared.
    Scan,
    /// Graphs propose candidates.
    Walk {
        /// Candidates that a walk keeps.
        list: usize,
    },
}

impl Path {
    /// Chooses the method of finding `wanted` of `in_play` documents, if the embedder has `vectors` in total.
    pub fn choose(vectors: u64, in_play: u64, wanted: usize) -> Self {
        let list = wanted.saturating_mul(10).clamp(LIST_MIN, LIST_MAX);
        let list = LIST_MIN * list.div_ceil(LIST_MIN).next_power_of_two();
        let walk = vectors > EXACT_MAX
            && in_play > EXACT_MAX
            && (in_play > SCANNED_MAX || in_play.saturating_mul(in_play) / vectors > WALK_COST * list as u64)
            && in_play.saturating_mul(100) >= vectors
            && (wanted as u64).saturating_mul(20) <= vectors;
        if walk { Self::Walk { list } } else { Self::Scan }
    }
}

impl Nearest {
    /// Creates a search for neighbours of `vectors`, which have the dimensions of the embedder.
    pub fn new(index: Option<VectorIndex>, embedder: &Embedder, vectors: &[Vec<f32>]) -> Self {
        Self {
            index,
            probes: vectors.iter().map(|vector| Probe::new(vector, embedder.binary)).collect(),
            codes: vectors.iter().filter_map(|vector| code_of(vector)).collect(),
            shift: embedder.shift,
        }
    }

    /// Orders `universe`. The caller will probably request `wanted` documents. Documents without vectors are not
    /// neighbours. There are no neighbours if `deadline` passes first.
    ///
    /// # Errors
    /// Internal only.
    pub fn among(&self, universe: &RoaringBitmap, wanted: usize, deadline: Instant) -> Result<Neighbours> {
        let mut neighbours = Neighbours {
            nearest: self.clone(),
            heap: BinaryHeap::new(),
            returned: RoaringBitmap::new(),
            wanted: wanted.max(1),
            complete: true,
            deadline,
        };
        neighbours.fill(universe)?;
        Ok(neighbours)
    }

    /// Calculates bounds of the distances of `docids` from their codes. `None` if vectors have to be compared.
    fn bounds(
        &self,
        set: &VectorSet,
        docids: &RoaringBitmap,
        wanted: usize,
        deadline: Instant,
    ) -> Option<Vec<Bounds>> {
        let few = (wanted as u64).saturating_mul(NARROWED_SHARE) > docids.len();
        if few || docids.len() < NARROWED_MIN || !set.is_coded() || self.codes.len() < self.probes.len() {
            return None;
        }
        let docids = ascending(docids);
        let threads = if docids.len() < SHARED_SCAN_MIN { 1 } else { threads::for_a_search() };
        let parts: Vec<&[u32]> = docids.chunks(docids.len().div_ceil(threads)).collect();
        let parts = in_parallel(&parts, |docids| {
            let mut bounds = Vec::with_capacity(docids.len());
            for some in docids.chunks(VECTORS_PER_CLOCK_READ) {
                if !bounds.is_empty() && Instant::now() >= deadline {
                    return None;
                }
                set.bounds(some, &self.codes, &mut bounds);
            }
            Some(bounds)
        });
        Some(parts.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default().concat())
    }

    /// Returns the keys of the nearest documents by their vectors, at least `wanted`, and a distance below which the
    /// keys are complete. Returns fewer if `deadline` passes first.
    fn refine(
        &self,
        set: &VectorSet,
        mut bounds: Vec<Bounds>,
        wanted: usize,
        deadline: Instant,
    ) -> (Vec<Reverse<u64>>, f32) {
        let mut beyond = f32::INFINITY;
        if bounds.len() > wanted {
            let mut uppers: Vec<f32> = bounds.iter().map(|bounds| bounds.upper).collect();
            let (_, reach, _) = uppers.select_nth_unstable_by(wanted.max(1) - 1, f32::total_cmp);
            bounds.retain(|bounds| {
                let near = bounds.lower <= *reach;
                beyond = if near { beyond } else { beyond.min(bounds.lower) };
                near
            });
        }
        // Compares the most promising documents first: their distances exclude others.
        bounds.sort_unstable_by(|a, b| a.upper.total_cmp(&b.upper));
        bounds.iter().take(FETCHED_AHEAD).for_each(|bounds| set.fetch(bounds.docid));
        let mut keys = Vec::with_capacity(bounds.len());
        let mut nearest: BinaryHeap<u32> = BinaryHeap::with_capacity(wanted.min(bounds.len()) + 1);
        for (at, Bounds { docid, lower, .. }) in bounds.iter().enumerate() {
            if at % VECTORS_PER_CLOCK_READ == VECTORS_PER_CLOCK_READ - 1 && Instant::now() >= deadline {
                return (Vec::new(), beyond);
            }
            bounds.get(at + FETCHED_AHEAD).into_iter().for_each(|bounds| set.fetch(bounds.docid));
            let last = nearest.peek().filter(|_| nearest.len() >= wanted);
            if last.is_some_and(|last| *lower > f32::from_bits(*last)) {
                beyond = beyond.min(*lower);
            } else if let Some(distance) = set.distance(*docid, &self.probes) {
                keys.push(Reverse(u64::from(distance.to_bits()) << 32 | u64::from(*docid)));
                nearest.push(distance.to_bits());
                if nearest.len() > wanted {
                    nearest.pop();
                }
            }
        }
        // Documents beyond the bound of those left out are returned later, together with them.
        keys.retain(|Reverse(key)| f32::from_bits((key >> 32) as u32) < beyond);
        (keys, beyond)
    }

    /// Orders `docids`. Returns nothing if `deadline` passes first.
    fn scan(&self, set: &VectorSet, docids: &RoaringBitmap, deadline: Instant) -> BinaryHeap<Reverse<u64>> {
        let mut keys = Vec::with_capacity(docids.len() as usize);
        let mut soon = docids.iter();
        soon.by_ref().take(FETCHED_AHEAD).for_each(|docid| set.fetch(docid));
        for (at, docid) in docids.iter().enumerate() {
            soon.next().into_iter().for_each(|docid| set.fetch(docid));
            if at % VECTORS_PER_CLOCK_READ == VECTORS_PER_CLOCK_READ - 1 && Instant::now() >= deadline {
                return BinaryHeap::new();
            }
            if let Some(distance) = set.distance(docid, &self.probes) {
                keys.push(Reverse(u64::from(distance.to_bits()) << 32 | u64::from(docid)));
            }
        }
        keys.into()
    }

    /// Returns documents of `docids` that are probably near, with bounds of their distances.
    fn propose(
        &self,
        set: &VectorSet,
        sealed: &Sealed,
        docids: &RoaringBitmap,
        wanted: usize,
        list: usize,
    ) -> Result<Vec<Bounds>> {
        let embedded = &set.flags().embedded;
        // A document with several vectors takes several entries of a list.
        let per_document = (set.vectors() as usize).div_ceil(embedded.len().max(1) as usize).min(4);
        let (wanted, list) = (wanted.max(NEAR_MIN) * per_document, list * per_document);
        let outside = set.since(reached(sealed));
        let mut proposed = Vec::new();
        for graph in sealed.iter() {
            let alive = |key: Key| key.is_of(set.location(key.docid()).sequence());
            let is_whole = outside.is_empty() && graph.keys() == set.vectors();
            for code in &self.codes {
                proposed.extend(match (is_whole, docids.len() == embedded.len()) {
                    (true, true) => graph.propose(code, wanted, list, |_| true),
                    (true, false) => graph.propose(code, wanted, list, |key| docids.contains(key.docid())),
                    (false, true) => graph.propose(code, wanted, list, alive),
                    (false, false) => {
                        graph.propose(code, wanted, list, |key| docids.contains(key.docid()) && alive(key))
                    }
                }?);
            }
        }
        // Documents outside of graphs are always compared, and so are vectors of length 0.
        let others = (&*outside | set.undirected()) & docids;
        set.bounds(&ascending(&others), &self.codes, &mut proposed);
        // The nearest pair counts, if a document has several vectors or there are several probes.
        proposed.sort_unstable_by_key(|bounds| bounds.docid);
        proposed.dedup_by(|later, known| {
            let is_same = later.docid == known.docid;
            if is_same {
                known.lower = known.lower.min(later.lower);
                known.upper = known.upper.min(later.upper);
            }
            is_same
        });
        Ok(proposed)
    }
}

/// Documents by distance, nearest first.
pub struct Neighbours {
    nearest: Nearest,
    /// Distance above docid. As bits, floats from 0 to 1 sort as the floats do.
    heap: BinaryHeap<Reverse<u64>>,
    /// Documents that were returned or are in the heap.
    returned: RoaringBitmap,
    wanted: usize,
    /// True if all candidates are in the heap or were returned.
    complete: bool,
    deadline: Instant,
}

impl Neighbours {
    /// Returns the next documents of `universe`, all at the same distance, and its displayed similarity.
    pub fn next_bucket(&mut self, universe: &RoaringBitmap) -> Result<Option<(RoaringBitmap, f32)>> {
        if self.heap.is_empty() && !self.complete {
            // The caller wants more documents than announced: searches for twice as many, until a scan takes over.
            self.wanted = self.wanted.saturating_mul(2);
            self.fill(universe)?;
        }
        let Some(Reverse(first)) = self.heap.pop() else { return Ok(None) };
        let distance = f32::from_bits((first >> 32) as u32);
        let mut docids = RoaringBitmap::from([first as u32]);
        while let Some(Reverse(next)) = self.heap.peek().filter(|Reverse(next)| next >> 32 == first >> 32) {
            docids.insert(*next as u32);
            self.heap.pop();
        }
        Ok(Some((docids, similarity(distance, self.nearest.shift))))
    }

    /// Adds documents of `universe` to the heap that were not returned yet.
    fn fill(&mut self, universe: &RoaringBitmap) -> Result<()> {
        self.complete = true;
        let Some(index) = self.nearest.index.clone() else { return Ok(()) };
        let set = index.set();
        let docids = (universe & &set.flags().embedded) - &self.returned;
        if let Path::Walk { list } = Path::choose(set.vectors(), docids.len(), self.wanted)
            && set.wants_graphs()
            && self.nearest.codes.len() == self.nearest.probes.len()
        {
            let sealed = index.graphs().sealed();
            if sealed.is_empty() {
                index.maintain_graphs();
            } else {
                let proposed = self.nearest.propose(set, &sealed, &docids, self.wanted, list)?;
                if proposed.len() as u64 >= docids.len().min(self.wanted as u64) {
                    let docids = proposed.iter().map(|bounds| bounds.docid);
                    let docids = RoaringBitmap::from_sorted_iter(docids).expect("one for each, ascending");
                    if self.add_nearest(set, proposed).is_none() {
                        self.add_all(set, &docids);
                    }
                    self.complete = false;
                    return Ok(());
                }
            }
        }
        self.complete = self.scan_narrowly(set, &docids);
        Ok(())
    }

    /// Compares only as many vectors as the wanted documents need. Returns true if all of `docids` were compared, so
    /// that none remains for later.
    fn scan_narrowly(&mut self, set: &VectorSet, docids: &RoaringBitmap) -> bool {
        let bounds = self.nearest.bounds(set, docids, self.wanted, self.deadline);
        let is_whole = bounds.and_then(|bounds| self.add_nearest(set, bounds));
        is_whole.unwrap_or_else(|| {
            self.add_all(set, docids);
            true
        })
    }

    /// Fills the heap with the nearest documents within `bounds`. Returns true if these are all. Returns `None`, with
    /// the heap unchanged, if they are too few, which happens only if rounding errors exceed the bounds.
    fn add_nearest(&mut self, set: &VectorSet, bounds: Vec<Bounds>) -> Option<bool> {
        let expected = self.wanted.min(bounds.len());
        let (found, beyond) = self.nearest.refine(set, bounds, self.wanted, self.deadline);
        if found.len() < expected && Instant::now() < self.deadline {
            return None;
        }
        self.returned.extend(found.iter().map(|Reverse(key)| *key as u32));
        self.heap = found.into();
        Some(beyond == f32::INFINITY)
    }

    fn add_all(&mut self, set: &VectorSet, docids: &RoaringBitmap) {
        self.returned |= docids;
        self.heap = self.nearest.scan(set, docids, self.deadline);
    }
}
