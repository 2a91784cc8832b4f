//! Which nodes of a graph are next to which, on each of its levels?
//!
//! All nodes are on level 0, a sixteenth of those of a level on the next. A link may lead one way only.

use std::ops::Range;

use super::limits::CONNECTIVITY;
use crate::error::{Error, Result};

/// Links of a node on level 0: twice as many as above it, and two lines of memory.
const LOWEST: usize = 2 * CONNECTIVITY;

/// Fills the places of a node that has fewer links.
const NOBODY: u32 = u32::MAX;

/// Links of nodes, which are numbers from 0.
#[derive(Clone, Default)]
pub struct Links {
    lowest: Vec<u32>,
    /// Where those of a node above level 0 begin, level after level; a node without any has the place of the next.
    upper_from: Vec<u32>,
    upper: Vec<u32>,
}

impl Links {
    /// The most that a node has on a level.
    pub fn most(level: usize) -> usize {
        if level == 0 { LOWEST } else { CONNECTIVITY }
    }

    /// Makes room for so many nodes more.
    pub fn reserve(&mut self, nodes: usize) {
        self.lowest.reserve_exact(nodes * LOWEST);
        self.upper_from.reserve_exact(nodes);
    }

    /// Adds the next node, which is on all levels up to `level`.
    pub fn push(&mut self, level: usize) {
        self.lowest.extend([NOBODY; LOWEST]);
        self.upper_from.push(self.upper.len() as u32);
        self.upper.resize(self.upper.len() + level * CONNECTIVITY, NOBODY);
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        4 * (self.lowest.capacity() + self.upper.capacity() + self.upper_from.capacity())
    }

    fn places(&self, node: u32, level: usize) -> &[u32] {
        match level {
            0 => &self.lowest[node as usize * LOWEST..][..LOWEST],
            _ => &self.upper[self.upper_place(node, level)],
        }
    }

    fn places_mut(&mut self, node: u32, level: usize) -> &mut [u32] {
        let place = self.upper_place(node, level.max(1));
        match level {
            0 => &mut self.lowest[node as usize * LOWEST..][..LOWEST],
            _ => &mut self.upper[place],
        }
    }

    fn upper_place(&self, node: u32, level: usize) -> Range<usize> {
        let from = self.upper_from[node as usize] as usize + (level - 1) * CONNECTIVITY;
        from..from + CONNECTIVITY
    }

    /// The nodes that one leads to.
    pub fn of(&self, node: u32, level: usize) -> &[u32] {
        let places = self.places(node, level);
        let count = places.iter().position(|link| *link == NOBODY).unwrap_or(places.len());
        &places[..count]
    }

    /// Adds a link, if there is room.
    pub fn add(&mut self, node: u32, level: usize, to: u32) -> bool {
        let free = self.places_mut(node, level).iter_mut().find(|link| **link == NOBODY);
        free.map(|link| *link = to).is_some()
    }

    /// Replaces the links of a node.
    pub fn set(&mut self, node: u32, level: usize, links: &[u32]) {
        let places = self.places_mut(node, level);
        places.fill(NOBODY);
        places[..links.len()].copy_from_slice(links);
    }

    /// All of it, to be written.
    pub fn parts(&self) -> [&[u32]; 3] {
        [&self.lowest, &self.upper_from, &self.upper]
    }

    /// What [`Links::parts`] gave for so many nodes.
    ///
    /// # Errors
    /// Internal, if a link leads to a node that is not there.
    pub fn of_parts(nodes: usize, [lowest, upper_from, upper]: [Vec<u32>; 3]) -> Result<Self> {
        let leads_somewhere = |link: &u32| *link == NOBODY || (*link as usize) < nodes;
        let is_sound = lowest.len() == nodes * LOWEST
            && upper_from.len() == nodes
            && upper_from.is_sorted()
            && upper_from.iter().all(|from| (*from as usize).is_multiple_of(CONNECTIVITY))
            && upper.len().is_multiple_of(CONNECTIVITY)
            && upper_from.last().is_none_or(|last| *last as usize <= upper.len())
            && lowest.iter().chain(&upper).all(leads_somewhere);
        let links = Self { lowest, upper_from, upper };
        if is_sound && links.stay_on_their_levels() {
            return Ok(links);
        }
        Err(Error::internal("a graph of vectors is damaged", "its links lead nowhere".to_owned()))
    }

    fn stay_on_their_levels(&self) -> bool {
        let is_there = |node: u32, level: usize| self.level(node).is_some_and(|highest| highest >= level);
        (0..self.upper_from.len() as u32).all(|node| {
            let mut levels = 1..=self.level(node).unwrap_or(0);
            levels.all(|level| self.of(node, level).iter().all(|to| is_there(*to, level)))
        })
    }

    /// The highest level that a node is on; None: there is no such node.
    pub fn level(&self, node: u32) -> Option<usize> {
        let from = *self.upper_from.get(node as usize)? as usize;
        let next = self.upper_from.get(node as usize + 1).map_or(self.upper.len(), |next| *next as usize);
        Some((next - from) / CONNECTIVITY)
    }
}
