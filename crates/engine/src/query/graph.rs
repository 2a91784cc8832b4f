//! The graph of the readings of a query.
//!
//! A node is a word, a phrase or neighbouring words joined. A path from the start to the end of the query is a reading.
//! Rules narrow the graph: they pass on only the paths, and for each node only the kinds of derivations, that matched a
//! document. Source: search §6, §7.1.

use std::ops::RangeInclusive;

use rustc_hash::FxHashMap;

use super::derivations::{Derivations, Joined};
use super::limits::{ANY_NGRAM_WORDS_MAX, NGRAM_WORDS_MAX};
use super::parse::{QueryTerm, TermText};
use super::term::{DerivationKinds, Term};
use crate::error::Result;
use crate::settings::MatchingStrategy;

/// Index of a node in its graph.
pub(crate) type NodeId = usize;

/// A step of reading the query.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TermNode {
    /// Index into the terms of the query, n-grams included.
    pub(crate) term: usize,
    /// The kinds of derivations that still count.
    pub(crate) kinds: DerivationKinds,
    /// Ids of the query terms it covers.
    pub(crate) ids: RangeInclusive<usize>,
    /// Query positions it covers.
    pub(crate) positions: RangeInclusive<u32>,
    /// True if no separator is between it and the query term before.
    pub(crate) is_attached: bool,
}

impl TermNode {
    /// Number of query terms it covers.
    pub(crate) fn width(&self) -> u32 {
        (self.ids.end() - self.ids.start() + 1) as u32
    }

    /// Returns the same node with only the derivations of `kinds`.
    pub(crate) fn narrowed(&self, kinds: DerivationKinds) -> Self {
        Self { kinds: self.kinds.and(kinds), ..self.clone() }
    }
}

/// The readings of a query. Nodes are in order of creation and are tried in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct QueryGraph {
    nodes: Vec<TermNode>,
    /// By node: the nodes that may follow; empty: the query ends there.
    next: Vec<Vec<NodeId>>,
    /// The nodes that may come first.
    first: Vec<NodeId>,
}

impl QueryGraph {
    /// Returns all readings of `query`, and the terms of its nodes.
    ///
    /// Neighbouring words are also read joined, two or three at a time, unless one is a phrase or something separates
    /// them. With the matching strategy `any`, two at a time, and only as written.
    pub(crate) fn new(
        query: &[QueryTerm],
        derivations: &Derivations,
        strategy: MatchingStrategy,
    ) -> Result<(Self, Vec<Term>)> {
        let is_any = strategy == MatchingStrategy::Any;
        let width_max = if is_any { ANY_NGRAM_WORDS_MAX } else { NGRAM_WORDS_MAX };
        let (mut graph, mut terms) = (Self::default(), Vec::new());
        for id in 0..query.len() {
            for width in 1..=width_max.min(id + 1) {
                let covered = &query[id + 1 - width..=id];
                let Some(term) = read_as_one(covered, derivations, is_any)? else { continue };
                graph.nodes.push(TermNode {
                    term: terms.len(),
                    kinds: DerivationKinds::ALL,
                    ids: id + 1 - width..=id,
                    positions: *covered[0].positions.start()..=*query[id].positions.end(),
                    is_attached: covered[0].is_attached,
                });
                terms.push(term);
            }
        }
        let starting_at = |id: usize| -> Vec<NodeId> {
            graph
                .nodes
                .iter()
                .zip(0..)
                .filter(|(node, _)| *node.ids.start() == id)
                .map(|(_, id)| id)
                .collect()
        };
        graph.first = starting_at(0);
        graph.next = graph.nodes.iter().map(|node| starting_at(node.ids.end() + 1)).collect();
        Ok((graph, terms))
    }

    /// Builds the graph of `paths`, in this order. Common ends of paths are shared.
    pub(crate) fn of_paths(paths: impl IntoIterator<Item = Vec<TermNode>>) -> Self {
        let mut graph = Self::default();
        // A node of this graph is identified by itself and everything after it, hence by its successor.
        let mut known: FxHashMap<(TermNode, Option<NodeId>), NodeId> = FxHashMap::default();
        for path in paths {
            let mut after = None;
            for node in path.into_iter().rev() {
                let id = *known.entry((node.clone(), after)).or_insert_with(|| {
                    graph.nodes.push(node);
                    graph.next.push(after.into_iter().collect());
                    graph.nodes.len() - 1
                });
                after = Some(id);
            }
            if let Some(first) = after.filter(|first| !graph.first.contains(first)) {
                graph.first.push(first);
            }
        }
        graph
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, id: NodeId) -> &TermNode {
        &self.nodes[id]
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &TermNode)> {
        (0..).zip(&self.nodes)
    }

    /// Returns the nodes after `node`, or the first nodes of the query. Empty: the query ends.
    pub(crate) fn after(&self, node: Option<NodeId>) -> &[NodeId] {
        node.map_or(&self.first, |node| &self.next[node])
    }

    /// Returns the nodes of the only reading of the query; None if there are several.
    pub(crate) fn only_path(&self) -> Option<Vec<NodeId>> {
        let mut path = Vec::with_capacity(self.nodes.len());
        let mut after = self.first.as_slice();
        while let [node] = after {
            path.push(*node);
            after = &self.next[*node];
        }
        after.is_empty().then_some(path)
    }

    /// Returns the nodes in an order in which each precedes its predecessors in the query.
    pub(crate) fn backwards(&self) -> Vec<NodeId> {
        let mut order: Vec<NodeId> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&node| std::cmp::Reverse(*self.nodes[node].ids.end()));
        order
    }

    /// Returns the cost of the most expensive path, given the cost of each edge.
    pub(crate) fn max_cost(&self, edge: impl Fn(Option<NodeId>, NodeId) -> u32) -> u32 {
        let mut dearest = vec![0; self.nodes.len()];
        let from = |from: Option<NodeId>, dearest: &[u32]| {
            self.after(from).iter().map(|&to| edge(from, to) + dearest[to]).max().unwrap_or(0)
        };
        for node in self.backwards() {
            dearest[node] = from(Some(node), &dearest);
        }
        from(None, &dearest)
    }
}

/// With `as_written`, joined words are neither completed, corrected nor split.
fn read_as_one(covered: &[QueryTerm], derivations: &Derivations, as_written: bool) -> Result<Option<Term>> {
    if let [QueryTerm { text: TermText::Phrase(slots), .. }] = covered {
        return Ok(Some(derivations.of_phrase(slots.clone())));
    }
    let apart = covered.windows(2).any(|two| two[0].positions.end() + 1 != *two[1].positions.start());
    let mut words = Vec::with_capacity(covered.len());
    let mut ends_query = false;
    for term in covered {
        let TermText::Word { word, unfinished } = &term.text else { return Ok(None) };
        words.push(word.clone());
        ends_query = *unfinished;
    }
    match words.as_slice() {
        _ if apart => Ok(None),
        [word] => derivations.of_word(word, ends_query).map(Some),
        _ => {
            let is_attached = covered[1..].iter().all(|term| term.is_attached);
            derivations.of_joined(Joined { parts: words, unfinished: ends_query, is_attached }, as_written)
        }
    }
}
