//! Here is a graph and a vector: to which nodes is it linked, and which of them link back?

use super::codes::code_distance;
use super::graph::{Graph, Key, Near, Walk};
use super::limits::{CONNECTIVITY, EXPANSION_ADD, INCOMING_MIN};
use super::links::Links;

/// A graph that vectors are added to.
pub struct Linking {
    graph: Graph,
    /// How many links lead to a node on level 0. Those to which none leads are never found.
    incoming: Vec<u32>,
    walk: Walk,
}

impl Linking {
    /// Goes on with `graph`, which gets about so many `vectors` more.
    pub fn new(mut graph: Graph, vectors: usize) -> Self {
        graph.keys.reserve_exact(vectors);
        graph.links.reserve(vectors);
        let mut incoming = vec![0; graph.keys.len()];
        for node in 0..graph.keys.len() as u32 {
            graph.links.of(node, 0).iter().for_each(|to| incoming[*to as usize] += 1);
        }
        Self { graph, incoming, walk: Walk::default() }
    }

    /// The graph with all that was added.
    pub fn finish(self) -> Graph {
        self.graph
    }

    /// Adds a vector by its code.
    pub fn add(&mut self, key: Key, code: &[i8]) {
        let node = self.graph.keys.len() as u32;
        let level = level_of(node);
        let top = self.graph.links.level(self.graph.entry);
        let from = self.graph.descend(code, level);
        self.graph.keys.push(key);
        self.graph.codes.push_code(code);
        self.graph.links.push(level);
        self.incoming.push(0);
        if let (Some(mut from), Some(top)) = (from, top) {
            for level in (0..=level.min(top)).rev() {
                let found = self.walk.nearest(&self.graph, code, from, level, EXPANSION_ADD, |_| true);
                from = found.first().map_or(from, |near| near.node());
                let chosen = self.choose(&found, CONNECTIVITY);
                self.set(node, level, &chosen);
                chosen.into_iter().for_each(|other| self.link(other, node, level));
            }
        }
        if top.is_none_or(|top| level > top) {
            self.graph.entry = node;
        }
    }

    /// Of candidates, nearest first, at most so many that lie in different directions: none is nearer to another one
    /// chosen than to the node it is chosen for.
    fn choose(&self, candidates: &[Near], most: usize) -> Vec<u32> {
        let mut chosen: Vec<u32> = Vec::with_capacity(most);
        for candidate in candidates {
            if chosen.len() == most {
                break;
            }
            let code = self.graph.code(candidate.node());
            let apart = |other: &u32| code_distance(code, self.graph.code(*other)) >= candidate.distance();
            if chosen.iter().all(apart) {
                chosen.push(candidate.node());
            }
        }
        chosen
    }

    /// Adds the link from `node` to `to`; if it has too many, those that lead elsewhere stay.
    fn link(&mut self, node: u32, to: u32, level: usize) {
        if self.graph.links.add(node, level, to) {
            if level == 0 {
                self.incoming[to as usize] += 1;
            }
            return;
        }
        let mut others = self.graph.links.of(node, level).to_vec();
        others.push(to);
        let mut candidates: Vec<Near> = self.graph.near(self.graph.code(node), &others).collect();
        candidates.sort_unstable();
        let most = Links::most(level);
        let mut chosen = self.choose(&candidates, most);
        if level == 0 {
            self.spare(to, &candidates, &mut chosen, most);
        }
        self.set(node, level, &chosen);
    }

    /// Keeps links to nodes that few others lead to, in the place of those to nodes that many lead to.
    fn spare(&self, to: u32, candidates: &[Near], chosen: &mut Vec<u32>, most: usize) {
        // Without the link in question: to the new one it is not counted yet.
        let others = |other: u32| self.incoming[other as usize] - u32::from(other != to);
        let lonely = candidates.iter().map(|near| near.node()).filter(|other| others(*other) < INCOMING_MIN);
        for other in lonely {
            if chosen.contains(&other) {
                continue;
            }
            if chosen.len() < most {
                chosen.push(other);
            } else if let Some(place) = chosen.iter().rposition(|kept| others(*kept) >= INCOMING_MIN) {
                chosen[place] = other;
            }
        }
    }

    fn set(&mut self, node: u32, level: usize, links: &[u32]) {
        if level == 0 {
            let before = self.graph.links.of(node, 0);
            before.iter().for_each(|other| self.incoming[*other as usize] -= 1);
            links.iter().for_each(|other| self.incoming[*other as usize] += 1);
        }
        self.graph.links.set(node, level, links);
    }
}

/// The highest level a node is on: by chance, each as often as there are nodes on it, but always the same.
fn level_of(node: u32) -> usize {
    // Source of the mixing: splitmix64.
    let mut mixed = u64::from(node).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    // A level for every four bits that are 0: a sixteenth of the nodes of the level below.
    (mixed ^ mixed >> 31).trailing_zeros() as usize / CONNECTIVITY.trailing_zeros() as usize
}
