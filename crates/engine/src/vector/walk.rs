//! Finds the vectors nearest to a code in a graph that the usearch library has written.
//!
//! The library builds graphs, but compares codes one pair at a time and waits for memory each time. This walk works on
//! the bytes of the graph and compares the neighbours of a node together: the same walk in about half the time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::codes::{SIDE_BY_SIDE, bounds_around, code_distance, code_distances, fetch};
use super::limits::{CODE_ERROR, DETOUR};
use super::walkable::{Walkable, damaged};
use crate::error::Result;

/// A distance from 0 to 2 as bits, which sort as floats do, above a slot.
type Candidate = u64;

fn candidate(distance: f32, slot: u32) -> Candidate {
    u64::from(distance.max(0.0).to_bits()) << 32 | u64::from(slot)
}

fn distance_of(candidate: Candidate) -> f32 {
    f32::from_bits((candidate >> 32) as u32)
}

/// A node near the probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Near {
    pub(super) key: u64,
    /// Bounds of the distance of its vector.
    pub(super) bounds: (f32, f32),
}

/// Nodes found by a walk.
struct Found {
    /// Nearest nodes, up to `wanted`.
    nearest: BinaryHeap<Candidate>,
    wanted: usize,
    /// Nearest nodes, up to `list_max`.
    list: BinaryHeap<Candidate>,
    list_max: usize,
    /// Nodes at a greater distance rarely lead to a wanted one, so they are not visited.
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
        // The reach is the distance of the farthest wanted node, plus a share of it for detours. If neighbours are much
        // nearer than other nodes, as in clusters, this ends a walk long before its list is full.
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

impl Walkable {
    /// Returns nodes that `admit` accepts, at most `list`, nearest first. They probably include the `wanted` nearest
    /// nodes.
    ///
    /// # Errors
    /// Internal, if the graph refers to nodes that do not exist.
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
}

impl Walk<'_> {
    /// Returns the start of a walk on the lowest level. On each level above, moves from neighbour to neighbour towards
    /// the probe.
    fn descend(&self) -> Result<(f32, u32)> {
        let mut nearest =
            (code_distance(self.probe, self.graph.code(self.bytes, self.graph.entry)?), self.graph.entry);
        let mut slots = Vec::with_capacity(self.graph.links);
        for level in (1..=self.graph.top).rev() {
            loop {
                let from = nearest;
                slots.clear();
                slots.extend(self.graph.neighbours(self.bytes, from.1, level)?);
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

    /// Visits the neighbours of the nearest nodes found so far, until no node is within reach.
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
        if admit(self.graph.key(start)?) {
            found.add(candidate(distance, start));
        }
        while let Some(Reverse(nearest)) = next.pop() {
            if distance_of(nearest) > found.reach {
                break;
            }
            fresh.clear();
            for slot in self.graph.neighbours(self.bytes, nearest as u32, 0)? {
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
                match self.graph.key(slot) {
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
            let bounds = bounds_around(distance_of(found), self.probe, self.graph.code(self.bytes, slot)?);
            Ok(Near { key: self.graph.key(slot)?, bounds })
        };
        found.list.into_sorted_vec().into_iter().map(near).collect()
    }

    /// Prefetches the bytes that [`Walkable::neighbours`] reads for the lowest level, if the node exists.
    fn fetch_neighbours(&self, slot: u32) {
        let node = self.graph.node(self.bytes, slot).unwrap_or_default();
        fetch(&node[..node.len().min(self.graph.neighbours_at(1))]);
    }

    /// Calls `take` with the distance of each node to the probe.
    fn compare(&self, slots: &[u32], mut take: impl FnMut(f32, u32)) -> Result<()> {
        let fetch_all =
            |slots: &[u32]| slots.iter().try_for_each(|&slot| self.graph.code(self.bytes, slot).map(fetch));
        let mut rest = slots.chunks(SIDE_BY_SIDE).peekable();
        rest.peek().copied().map_or(Ok(()), fetch_all)?;
        while let Some(some) = rest.next() {
            rest.peek().copied().map_or(Ok(()), fetch_all)?;
            // Pads the last group with a repeated code.
            let mut codes = [self.graph.code(self.bytes, some[0])?; SIDE_BY_SIDE];
            for (code, &slot) in codes.iter_mut().zip(some) {
                *code = self.graph.code(self.bytes, slot)?;
            }
            let distances = code_distances(self.probe, codes);
            some.iter().zip(distances).for_each(|(&slot, distance)| take(distance, slot));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

    use super::*;
    use crate::vector::codes::{code_bytes, code_of};
    use crate::vector::walkable::SHAPE_BYTES;

    const DIMENSIONS: usize = 24;
    const COUNT: u64 = 700;

    /// Returns the code of a pseudo-random direction.
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

    /// Builds a graph by the library with our comparison function.
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

    /// Returns the keys found by a walk. Asserts that each distance is within its bounds.
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
    fn a_walk_finds_near_nodes_and_only_admitted_ones() {
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
    fn damaged_bytes_do_not_panic() {
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
