//! A sealed graph over the vectors of a stretch of a log: it proposes neighbours and never changes.
//!
//! Keys are docid:32 ‖ slot:8 ‖ the low 24 bits of the record's sequence number. A key whose record was
//! replaced since is dead and is not proposed; one that seems alive by chance costs a comparison, no more,
//! because every proposal is compared anew with the vectors of the log. Dead ones still lead on to others.
//!
//! Nodes compare their codes (`codes.rs`), of which a graph has copies of its own: those of the dead are nowhere else.
//! Source of the method: Malkov and Yashunin, Efficient and robust approximate nearest neighbor search using
//! hierarchical navigable small world graphs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::codes::{Codes, SIDE_BY_SIDE, code_bytes, code_distances, has_direction};
use super::linking::Linking;
use super::links::Links;
use super::set::VectorSet;
use super::table::Place;

/// The vectors of the records whose sequence numbers lie in a range.
#[derive(Clone)]
pub struct Graph {
    pub(super) dimensions: usize,
    pub(super) covers: Range<u64>,
    /// By node.
    pub(super) keys: Vec<Key>,
    pub(super) codes: Codes,
    pub(super) links: Links,
    /// A node of the highest level, from which all walks go.
    pub(super) entry: u32,
}

/// A key that was proposed, or asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub(super) u64);

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
    pub fn build(
        set: &VectorSet,
        covers: Range<u64>,
        places: &[(u32, Place)],
        onto: Option<&Self>,
        stop: &AtomicBool,
    ) -> Option<Self> {
        let vectors: usize = places.iter().map(|(_, place)| place.count()).sum();
        let empty = || Self {
            dimensions: set.shape().dimensions,
            covers: covers.clone(),
            keys: Vec::new(),
            codes: Codes::default(),
            links: Links::default(),
            entry: 0,
        };
        let graph = onto.map_or_else(empty, |graph| Self { covers: covers.clone(), ..graph.clone() });
        let mut linking = Linking::new(graph, vectors);
        for (docid, place) in places {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            for (slot, code) in set.codes(*place).enumerate().filter(|(_, code)| has_direction(code)) {
                linking.add(Key::new(*docid, slot, place.sequence()), code);
            }
        }
        Some(linking.finish())
    }

    /// Sequence numbers of the records in it.
    pub fn covers(&self) -> &Range<u64> {
        &self.covers
    }

    /// Vectors in it, dead ones included.
    pub fn keys(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Bytes it takes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.keys.len() * (size_of::<Key>() + code_bytes(self.dimensions)) + self.links.bytes()
    }

    /// Proposes `wanted` neighbours of the vector with the code `query` among the keys that `admit` lets through.
    pub fn propose(&self, query: &[i8], wanted: usize, admit: impl Fn(Key) -> bool) -> Vec<Key> {
        let Some(from) = self.descend(query, 0) else { return Vec::new() };
        let admit = |node: u32| admit(self.keys[node as usize]);
        let found = Walk::default().nearest(self, query, from, 0, wanted, admit);
        found.into_iter().map(|near| self.keys[near.node() as usize]).collect()
    }

    /// From the entry down to `level`, always to the nearest. None: there are no nodes.
    pub(super) fn descend(&self, query: &[i8], level: usize) -> Option<u32> {
        let top = self.links.level(self.entry)?;
        let mut nearest = self.near(query, &[self.entry]).next()?;
        for level in (level + 1..=top).rev() {
            while let Some(next) = self.near(query, self.links.of(nearest.node(), level)).min()
                && next < nearest
            {
                nearest = next;
            }
        }
        Some(nearest.node())
    }

    /// The code of a node.
    pub(super) fn code(&self, node: u32) -> &[i8] {
        self.codes.get(node, self.dimensions)
    }

    /// How far from `query` each of `nodes` is.
    pub(super) fn near(&self, query: &[i8], nodes: &[u32]) -> impl Iterator<Item = Near> {
        nodes.chunks(SIDE_BY_SIDE).flat_map(move |nodes| {
            // What is left over at the end is filled up with its first.
            let codes = std::array::from_fn(|at| self.code(*nodes.get(at).unwrap_or(&nodes[0])));
            let distances = code_distances(query, codes);
            nodes.iter().zip(distances).map(|(node, distance)| Near::new(*node, distance))
        })
    }
}

/// A node and how far away it is. The nearer comes first, of those equally far the older.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Near(u64);

impl Near {
    /// Bits of floats from 0 on compare as the floats do.
    fn new(node: u32, distance: f32) -> Self {
        Self(u64::from(distance.max(0.0).to_bits()) << 32 | u64::from(node))
    }

    /// Which node.
    pub fn node(self) -> u32 {
        self.0 as u32
    }

    /// 1 less the cosine.
    pub fn distance(self) -> f32 {
        f32::from_bits((self.0 >> 32) as u32)
    }
}

/// Walks along the links of one level; kept for the next one, it needs no new memory.
#[derive(Default)]
pub struct Walk {
    /// A bit for each node.
    seen: Vec<u64>,
    next: BinaryHeap<Reverse<Near>>,
    nearest: BinaryHeap<Near>,
    fresh: Vec<u32>,
}

impl Walk {
    /// The `list` nearest nodes on a level, in order, that are reached from `from` and that `admit` lets through.
    pub fn nearest(
        &mut self,
        graph: &Graph,
        query: &[i8],
        from: u32,
        level: usize,
        list: usize,
        admit: impl Fn(u32) -> bool,
    ) -> Vec<Near> {
        self.seen.clear();
        self.seen.resize(graph.keys.len().div_ceil(64), 0);
        self.next.clear();
        self.look_at(graph, query, &[from], list, &admit);
        while let Some(Reverse(nearest)) = self.next.pop() {
            if self.nearest.len() >= list && self.nearest.peek().is_some_and(|last| nearest > *last) {
                break;
            }
            self.look_at(graph, query, graph.links.of(nearest.node(), level), list, &admit);
        }
        let mut found: Vec<Near> = self.nearest.drain().collect();
        found.sort_unstable();
        found
    }

    fn look_at(
        &mut self,
        graph: &Graph,
        query: &[i8],
        nodes: &[u32],
        list: usize,
        admit: &impl Fn(u32) -> bool,
    ) {
        let Self { seen, next, nearest, fresh } = self;
        fresh.clear();
        for node in nodes {
            let (word, bit) = (&mut seen[*node as usize / 64], 1 << (node % 64));
            if *word & bit == 0 {
                *word |= bit;
                fresh.push(*node);
            }
        }
        for near in graph.near(query, fresh) {
            if nearest.len() >= list && nearest.peek().is_some_and(|last| near > *last) {
                continue;
            }
            next.push(Reverse(near));
            if admit(near.node()) {
                nearest.push(near);
                if nearest.len() > list {
                    nearest.pop();
                }
            }
        }
    }
}
