//! More of the query's words come first.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::costs::{CostRule, Removal};
use super::graph::{Graph, Node};
use super::lexicon::Lexicon;
use super::partition::Levels;
use super::score::ScoreDetail;
use super::{MatchingStrategy, term::Term};
use crate::error::Result;

/// Words are given up from the end of the query, or commonest first. Source: search-semantics §6.3, §7.2.
pub(super) struct WordsRule {
    removal: Removal,
}

impl WordsRule {
    pub(super) fn new(removal: Removal) -> Self {
        Self { removal }
    }
}

impl CostRule for WordsRule {
    fn levels(
        &self,
        lexicon: &Lexicon,
        _: Option<&Node>,
        to: &Node,
        _: &RoaringBitmap,
        _: u32,
    ) -> Result<Levels> {
        Ok(vec![(0, lexicon.node_docs(to)?)])
    }

    /// Documents with all words are told by set algebra alone.
    fn within(&self, lexicon: &Lexicon, graph: &Graph, limit: u32) -> Result<Option<Arc<RoaringBitmap>>> {
        (limit == 0 && graph.only_path().is_none()).then(|| lexicon.match_set(graph, |_| false)).transpose()
    }

    fn cost_max(&self, _: &Lexicon, _: Option<&Node>, _: &Node) -> u32 {
        0
    }

    fn removal(&self) -> Option<&Removal> {
        Some(&self.removal)
    }

    /// The words of phrases always match, and count but for one of them.
    fn detail(&self, lexicon: &Lexicon, graph: &Graph, cost: u32, cost_max: u32) -> ScoreDetail {
        let phrase_words = |term: &Term| term.phrase.iter().flatten().flatten().count() as u32;
        let in_phrases: u32 = graph.nodes().map(|(_, node)| phrase_words(lexicon.term(node))).sum();
        let max = 1 + in_phrases.saturating_sub(1) + cost_max;
        ScoreDetail::Words { matching: max - cost, max }
    }
}

impl Removal {
    /// Which nodes of `graph` may be passed over, and in which order.
    ///
    /// Phrases never; if there is none, the last group to go stays. An n-gram goes with the last of its
    /// words to go.
    pub(super) fn new(strategy: MatchingStrategy, graph: &Graph, lexicon: &Lexicon) -> Result<Self> {
        let order: Vec<u64> = match strategy {
            MatchingStrategy::All => return Ok(Self { group: vec![None; graph.len()] }),
            MatchingStrategy::Last => {
                let last = graph.nodes().map(|(_, node)| *node.ids.end()).max().unwrap_or(0);
                (0..=last).map(|id| (last - id) as u64).collect()
            }
            MatchingStrategy::Frequency => {
                let frequencies = lexicon.frequencies(graph)?;
                let last = frequencies.keys().copied().max().unwrap_or(0);
                let frequency = |id| frequencies.get(&id).copied().unwrap_or(0);
                // What no document holds is of no use: it goes first.
                let key = |id| match frequency(id) {
                    0 => 0,
                    frequency => u64::MAX - frequency,
                };
                (0..=last).map(key).collect()
            }
        };
        let is_phrase = |node: &Node| lexicon.term(node).phrase.is_some();
        let key = |node: &Node| node.ids.clone().map(|id| order[id]).max();
        let mut keys: Vec<u64> =
            graph.nodes().filter(|(_, node)| !is_phrase(node)).filter_map(|(_, node)| key(node)).collect();
        keys.sort_unstable();
        keys.dedup();
        if !graph.nodes().any(|(_, node)| is_phrase(node)) {
            keys.pop();
        }
        let group = |node: &Node| {
            let key = key(node).filter(|_| !is_phrase(node))?;
            keys.binary_search(&key).ok().map(|at| at + 1)
        };
        Ok(Self { group: graph.nodes().map(|(_, node)| group(node)).collect() })
    }
}
