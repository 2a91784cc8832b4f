//! Here is a graph as the library writes it, and a code: which of its vectors are likely the nearest?
//!
//! The library builds graphs, but compares one pair of codes at a time, each of which memory takes its time to fetch.
//! So its graph is walked where it lies, in the bytes it was written as, and the neighbours of a node are compared
//! side by side: the same walk in about half the time.
//!
//! ```text
//! bytes = rows:u32 columns:u32 code* head graph        head: 64 bytes, of which nothing is needed here
//! graph = nodes:u64 links:u64 links0:u64 top:u64 entry:u64 level* node*        level: 2 bytes, of each node
//! node  = key:u64 level:u16 neighbours0 neighbours*        one `neighbours` for each level above the lowest
//! neighbours0 = count:u32 slot:u32*                    room for links0 slots; `neighbours` for links
//! ```
//!
//! Numbers are little endian. Slots count codes and nodes, which are in one order. Source: `index.hpp` and
//! `index_dense.hpp` of usearch 2.26, whose version is pinned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::codes::{SIDE_BY_SIDE, bounds_around, code_distance, code_distances, fetch};
use super::limits::{CODE_ERROR, DETOUR};
use crate::error::{Error, Result};

const SHAPE_BYTES: usize = 8;
const HEAD_BYTES: usize = 64;
const GRAPH_HEADER_BYTES: usize = 40;
const LEVEL_BYTES: usize = 2;
const KEY_BYTES: usize = 8;
const COUNT_BYTES: usize = 4;
const SLOT_BYTES: usize = 4;

/// Where what lies in the bytes of a graph.
pub(super) struct Walkable {
    code_bytes: usize,
    nodes: u32,
    links: usize,
    base_links: usize,
    top: usize,
    entry: u32,
    /// Where each node begins.
    starts: Vec<u32>,
    /// The key of each node, side by side: each that is near is asked for, most of the nodes are not.
    keys: Vec<u64>,
}

/// Distances from 0 to 2 as bits, which compare as the floats do, above a slot.
type Candidate = u64;

fn candidate(distance: f32, slot: u32) -> Candidate {
    u64::from(distance.max(0.0).to_bits()) << 32 | u64::from(slot)
}

fn distance_of(candidate: Candidate) -> f32 {
    f32::from_bits((candidate >> 32) as u32)
}

impl Walkable {
    /// Finds its way about `bytes`, which hold codes of `code_bytes`.
    ///
    /// # Errors
    /// Internal, if they are something else.
    pub(super) fn of(bytes: &[u8], code_bytes: usize) -> Result<Self> {
        let nodes = u32_at(bytes, 0)?;
        let codes_end = SHAPE_BYTES + nodes as usize * code_bytes;
        if u32_at(bytes, 4)? as usize != code_bytes && nodes > 0 {
            return Err(damaged());
        }
        let header = codes_end + HEAD_BYTES;
        let number = |at: usize| {
            let bytes = bytes.get(header + 8 * at..).and_then(|rest| rest.first_chunk());
            usize::try_from(u64::from_le_bytes(*bytes.ok_or_else(damaged)?)).map_err(|_| damaged())
        };
        let links =
            |at: usize| number(at).ok().filter(|links| (1..=1 << 16).contains(links)).ok_or_else(damaged);
        let mut walkable = Self {
            code_bytes,
            nodes,
            links: links(1)?,
            base_links: links(2)?,
            top: number(3)?,
            entry: u32::try_from(number(4)?).map_err(|_| damaged())?,
            starts: Vec::with_capacity(nodes as usize),
            keys: Vec::with_capacity(nodes as usize),
        };
        let mut start = header + GRAPH_HEADER_BYTES + nodes as usize * LEVEL_BYTES;
        let levels = bytes.get(header + GRAPH_HEADER_BYTES..start).ok_or_else(damaged)?;
        let mut highest = 0;
        for level in levels.as_chunks::<LEVEL_BYTES>().0 {
            let level = usize::from(u16::from_le_bytes(*level));
            highest = highest.max(level);
            let key = bytes.get(start..).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
            walkable.keys.push(u64::from_le_bytes(*key));
            walkable.starts.push(u32::try_from(start).map_err(|_| damaged())?);
            start += walkable.neighbours_at(level + 1);
            if start > bytes.len() {
                return Err(damaged());
            }
        }
        let is_whole = number(0)? == nodes as usize && start == bytes.len();
        let is_sound = nodes == 0 || (walkable.entry < nodes && walkable.top <= highest);
        if is_whole && is_sound { Ok(walkable) } else { Err(damaged()) }
    }

    /// Bytes it takes in memory, beside those it is about.
    pub(super) fn memory_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<u32>() + self.keys.capacity() * size_of::<u64>()
    }

    /// Nodes among which the `wanted` nearest likely are, nearest first, of those `admit` lets through. At most `list`.
    ///
    /// # Errors
    /// Internal, if the graph leads to what is not there.
    pub(super) fn nearest(
        &self,
        bytes: &[u8],
        probe: &[i8],
        wanted: usize,
        list: usize,
        admit: impl Fn(u64) -> bool,
    ) -> Result<Vec<Near>> {
        if self.nodes == 0 || list == 0 || probe.len() != self.code_bytes {
            return Ok(Vec::new());
        }
        let walk = Walk { graph: self, bytes, probe };
        let start = walk.descend()?;
        walk.spread(start, Found::new(wanted, list), admit)
    }

    /// Where in a node the neighbours of a level begin; those of the level above the highest: where it ends.
    fn neighbours_at(&self, level: usize) -> usize {
        let links = match level {
            0 => return KEY_BYTES + LEVEL_BYTES,
            _ => self.base_links + (level - 1) * self.links,
        };
        KEY_BYTES + LEVEL_BYTES + level * COUNT_BYTES + links * SLOT_BYTES
    }
}

/// A node that is near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Near {
    pub(super) key: u64,
    /// Between which bounds the distance of its vector lies.
    pub(super) bounds: (f32, f32),
}

/// What a walk has found.
struct Found {
    /// The nearest; as many as were asked for.
    nearest: BinaryHeap<Candidate>,
    wanted: usize,
    /// More of them.
    list: BinaryHeap<Candidate>,
    list_max: usize,
    /// What is farther away leads to none of those that are wanted, so likely that it is not looked at.
    reach: f32,
}

impl Found {
    fn new(wanted: usize, list_max: usize) -> Self {
        let wanted = wanted.clamp(1, list_max);
        Self {
            nearest: BinaryHeap::with_capacity(wanted + 1),
            wanted,
            list: BinaryHeap::with_capacity(list_max + 1),
            list_max,
            reach: f32::INFINITY,
        }
    }

    fn add(&mut self, candidate: Candidate) {
        keep_nearest(&mut self.nearest, candidate, self.wanted);
        keep_nearest(&mut self.list, candidate, self.list_max);
        // Within as much as the farthest that is wanted is away, and a share of it for detours: where neighbours are
        // much nearer than all others, as in clusters, this ends a walk long before its list is full of them.
        if let Some(last) = self.nearest.peek().filter(|_| self.nearest.len() == self.wanted) {
            self.reach = distance_of(*last) * (1.0 + DETOUR) + CODE_ERROR;
        }
        if let Some(last) = self.list.peek().filter(|_| self.list.len() == self.list_max) {
            self.reach = self.reach.min(distance_of(*last));
        }
    }
}

fn keep_nearest(heap: &mut BinaryHeap<Candidate>, candidate: Candidate, most: usize) {
    heap.push(candidate);
    if heap.len() > most {
        heap.pop();
    }
}

struct Walk<'w> {
    graph: &'w Walkable,
    bytes: &'w [u8],
    probe: &'w [i8],
}

impl<'w> Walk<'w> {
    /// The node on the lowest level to begin with: on each level above it as near as it gets from neighbour to
    /// neighbour.
    fn descend(&self) -> Result<(f32, u32)> {
        let mut nearest = (code_distance(self.probe, self.code(self.graph.entry)?), self.graph.entry);
        let mut slots = Vec::with_capacity(self.graph.links);
        for level in (1..=self.graph.top).rev() {
            loop {
                let from = nearest;
                slots.clear();
                slots.extend(self.neighbours(from.1, level)?);
                self.compare(&slots, |distance, slot| {
                    if distance < nearest.0 {
                        nearest = (distance, slot);
                    }
                })?;
                if nearest.1 == from.1 {
                    break;
                }
            }
        }
        Ok(nearest)
    }

    /// Looks at the neighbours of the nearest nodes known until none is within reach.
    fn spread(
        &self,
        (distance, start): (f32, u32),
        mut found: Found,
        admit: impl Fn(u64) -> bool,
    ) -> Result<Vec<Near>> {
        let mut seen = vec![0u64; (self.graph.nodes as usize).div_ceil(64)];
        let mut is_new = |slot: u32| {
            let (word, bit) = (&mut seen[slot as usize / 64], 1 << (slot % 64));
            *word & bit == 0 && {
                *word |= bit;
                true
            }
        };
        let mut next = BinaryHeap::from([Reverse(candidate(distance, start))]);
        let mut fresh = Vec::with_capacity(self.graph.base_links);
        is_new(start);
        if admit(self.key(start)?) {
            found.add(candidate(distance, start));
        }
        while let Some(Reverse(nearest)) = next.pop() {
            if distance_of(nearest) > found.reach {
                break;
            }
            fresh.clear();
            for slot in self.neighbours(nearest as u32, 0)? {
                if slot >= self.graph.nodes {
                    return Err(damaged());
                }
                if is_new(slot) {
                    fresh.push(slot);
                }
            }
            let mut failed = None;
            self.compare(&fresh, |distance, slot| {
                let new = candidate(distance, slot);
                if distance_of(new) > found.reach {
                    return;
                }
                next.push(Reverse(new));
                self.fetch_neighbours(slot);
                match self.key(slot) {
                    Ok(key) if admit(key) => found.add(new),
                    Ok(_) => {}
                    Err(error) => failed = Some(error),
                }
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
        }
        let near = |found: Candidate| {
            let slot = found as u32;
            let bounds = bounds_around(distance_of(found), self.probe, self.code(slot)?);
            Ok(Near { key: self.key(slot)?, bounds })
        };
        found.list.into_sorted_vec().into_iter().map(near).collect()
    }

    /// Calls `take` with the distances of nodes.
    fn compare(&self, slots: &[u32], mut take: impl FnMut(f32, u32)) -> Result<()> {
        let fetch_all = |slots: &[u32]| slots.iter().try_for_each(|&slot| self.code(slot).map(fetch));
        let mut rest = slots.chunks(SIDE_BY_SIDE).peekable();
        rest.peek().copied().map_or(Ok(()), fetch_all)?;
        while let Some(some) = rest.next() {
            rest.peek().copied().map_or(Ok(()), fetch_all)?;
            // What is left over at the end is filled up with one of them.
            let mut codes = [self.code(some[0])?; SIDE_BY_SIDE];
            for (code, &slot) in codes.iter_mut().zip(some) {
                *code = self.code(slot)?;
            }
            let distances = code_distances(self.probe, codes);
            some.iter().zip(distances).for_each(|(&slot, distance)| take(distance, slot));
        }
        Ok(())
    }

    fn code(&self, slot: u32) -> Result<&'w [i8]> {
        let start = SHAPE_BYTES + slot as usize * self.graph.code_bytes;
        let code = self.bytes.get(start..start + self.graph.code_bytes).filter(|_| slot < self.graph.nodes);
        code.map(as_signed).ok_or_else(damaged)
    }

    fn key(&self, slot: u32) -> Result<u64> {
        self.graph.keys.get(slot as usize).copied().ok_or_else(damaged)
    }

    fn node(&self, slot: u32) -> Result<&'w [u8]> {
        let start = self.graph.starts.get(slot as usize).ok_or_else(damaged)?;
        self.bytes.get(*start as usize..).ok_or_else(damaged)
    }

    /// Has memory fetch what [`Walk::neighbours`] of the lowest level reads, where there is such a node.
    fn fetch_neighbours(&self, slot: u32) {
        let node = self.node(slot).unwrap_or_default();
        fetch(&node[..node.len().min(self.graph.neighbours_at(1))]);
    }

    /// Slots of the neighbours of a node on a level it reaches up to.
    fn neighbours(&self, slot: u32, level: usize) -> Result<impl Iterator<Item = u32> + use<'w>> {
        let rest = self.node(slot)?.get(self.graph.neighbours_at(level)..).ok_or_else(damaged)?;
        let count = u32_at(rest, 0)? as usize;
        let most = if level == 0 { self.graph.base_links } else { self.graph.links };
        let slots =
            rest[COUNT_BYTES..].get(..count * SLOT_BYTES).filter(|_| count <= most).ok_or_else(damaged)?;
        Ok(slots.as_chunks().0.iter().map(|slot| u32::from_le_bytes(*slot)))
    }
}

/// Bytes as the components they stand for.
fn as_signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: both are a byte of any value, so one slice is as good as the other.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
    Ok(u32::from_le_bytes(*bytes))
}

fn damaged() -> Error {
    Error::internal("a graph of vectors is damaged", "it leads to what is not there")
}

#[cfg(test)]
mod tests {
    use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

    use super::*;
    use crate::vector::codes::{code_bytes, code_of};

    const DIMENSIONS: usize = 24;
    const COUNT: u64 = 700;

    /// Some direction that `seed` stands for.
    fn code(seed: u64) -> Vec<i8> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let vector: Vec<f32> = (0..DIMENSIONS)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 40) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect();
        code_of(&vector).unwrap()
    }

    /// A graph the library made, comparing codes by our measure.
    fn graph() -> Vec<u8> {
        let options = IndexOptions {
            dimensions: code_bytes(DIMENSIONS),
            metric: MetricKind::IP,
            quantization: ScalarKind::I8,
            connectivity: 8,
            expansion_add: 64,
            expansion_search: 64,
            multi: false,
        };
        let mut index = Index::new(&options).unwrap();
        let bytes = code_bytes(DIMENSIONS);
        let distance = move |a: *const i8, b: *const i8| {
            // SAFETY: the library compares codes of this many bytes.
            unsafe {
                code_distance(std::slice::from_raw_parts(a, bytes), std::slice::from_raw_parts(b, bytes))
            }
        };
        <i8 as usearch::VectorType>::change_metric(&mut index, Box::new(distance)).unwrap();
        index.reserve(COUNT as usize).unwrap();
        (0..COUNT).for_each(|key| index.add(key, &code(key)).unwrap());
        let mut bytes = vec![0; index.serialized_length()];
        index.save_to_buffer(&mut bytes).unwrap();
        bytes
    }

    /// Keys of what a walk finds, each of which has to be as far away as it is said to be.
    fn keys(
        walkable: &Walkable,
        bytes: &[u8],
        probe: &[i8],
        (wanted, list): (usize, usize),
        admit: impl Fn(u64) -> bool,
    ) -> Vec<u64> {
        let near = walkable.nearest(bytes, probe, wanted, list, admit).unwrap();
        for Near { key, bounds: (lower, upper) } in &near {
            let distance = code_distance(probe, &code(*key)) / 2.0;
            assert!((*lower..=*upper).contains(&distance), "{key}: {lower} {distance} {upper}");
        }
        near.into_iter().map(|near| near.key).collect()
    }

    fn exact(probe: &[i8], admit: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut keys: Vec<u64> = (0..COUNT).filter(|key| admit(*key)).collect();
        keys.sort_by(|a, b| code_distance(probe, &code(*a)).total_cmp(&code_distance(probe, &code(*b))));
        keys.truncate(10);
        keys
    }

    #[test]
    fn a_walk_finds_what_is_near_and_only_what_is_admitted() {
        let bytes = graph();
        let walkable = Walkable::of(&bytes, code_bytes(DIMENSIONS)).unwrap();
        let even = |key: u64| key.is_multiple_of(2);
        let (mut found, mut asked) = (0, 0);
        for seed in 10_000..10_100 {
            let probe = code(seed);
            for admit in [(|_| true) as fn(u64) -> bool, even] {
                let near = keys(&walkable, &bytes, &probe, (10, 64), admit);
                assert!((10..=64).contains(&near.len()) && near.iter().all(|key| admit(*key)));
                let expected = exact(&probe, admit);
                asked += expected.len();
                found += expected.iter().filter(|key| near[..10].contains(key)).count();
            }
        }
        assert!(found * 100 >= asked * 98, "{found} of {asked}");
        assert_eq!(keys(&walkable, &bytes, &code(3), (1, 1), |_| true), [3]);
        assert!(keys(&walkable, &bytes, &code(3), (5, 5), |_| false).is_empty());
    }

    #[test]
    fn damaged_bytes_are_an_error_or_another_walk_but_no_panic() {
        let whole = graph();
        let bytes_of_code = code_bytes(DIMENSIONS);
        let end_of_codes = SHAPE_BYTES + COUNT as usize * bytes_of_code;
        for at in (0..SHAPE_BYTES).chain((end_of_codes..whole.len()).step_by(7)) {
            for bit in [1, 0x80] {
                let mut bytes = whole.clone();
                bytes[at] ^= bit;
                if let Ok(walkable) = Walkable::of(&bytes, bytes_of_code) {
                    let _ = walkable.nearest(&bytes, &code(5), 10, 16, |_| true);
                }
            }
        }
        for length in (0..whole.len()).step_by(whole.len() / 97) {
            assert!(Walkable::of(&whole[..length], bytes_of_code).is_err(), "{length} bytes");
        }
        assert!(Walkable::of(&whole, bytes_of_code + 32).is_err());
    }
}
