//! Prefers documents that contain more of the query words.

use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::query::{QueryGraph, Term, TermNode, TermResolver};
use crate::ranking::cost::{CostBuckets, CostRule, CostSink, Removal, Step};
use crate::ranking::request::MatchingStrategy;
use crate::ranking::rule::RuleSpec;
use crate::ranking::score::ScoreDetail;

/// Words are skipped from the end of the query, or the most frequent first. Skipping one costs the number of terms it
/// covers. Source: search §6.3, §7.2.
struct WordsRule;

pub(super) fn spec<'a>(resolver: &'a TermResolver<'a>, strategy: MatchingStrategy) -> RuleSpec<'a> {
    RuleSpec::new("words", move |universe, graph| {
        let removal = Removal::new(strategy, &graph, resolver)?;
        Ok(CostBuckets::new(WordsRule, resolver, graph, Some(removal), universe))
    })
}

impl CostRule for WordsRule {
    fn charge(
        &self,
        resolver: &TermResolver,
        Step { to, .. }: Step<'_>,
        _: &RoaringBitmap,
        _: u32,
        sink: &mut dyn CostSink,
    ) -> Result<()> {
        sink.all_shared(&resolver.node_docs(to)?, 0);
        Ok(())
    }

    fn cost_max(&self, _: &TermResolver, _: Step<'_>) -> u32 {
        0
    }

    /// Set algebra finds the documents with all words.
    fn documents_within(
        &self,
        resolver: &TermResolver,
        graph: &QueryGraph,
        limit: u32,
    ) -> Result<Option<Arc<RoaringBitmap>>> {
        (limit == 0 && graph.only_path().is_none()).then(|| resolver.match_set(graph, |_| false)).transpose()
    }

    /// The words of phrases always match; all but one of them are added to the counts.
    fn detail(&self, resolver: &TermResolver, graph: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail {
        let phrase_words = |term: &Term| term.phrase.iter().flatten().flatten().count() as u32;
        let in_phrases: u32 = graph.nodes().map(|(_, node)| phrase_words(resolver.term(node))).sum();
        let max = 1 + in_phrases.saturating_sub(1) + cost_max;
        ScoreDetail::Words { matching: max - cost, max }
    }
}

impl Removal {
    /// Finds the nodes of `graph` that may be skipped, and their order.
    ///
    /// Phrases are never skipped; without a phrase, the last group is never skipped. An n-gram is skipped together with
    /// the last of its words.
    pub(in crate::ranking) fn new(
        strategy: MatchingStrategy,
        graph: &QueryGraph,
        resolver: &TermResolver,
    ) -> Result<Self> {
        let order: Vec<u64> = match strategy {
            MatchingStrategy::Any => return Ok(Self { group: vec![Some(1); graph.len()] }),
            MatchingStrategy::All => return Ok(Self { group: vec![None; graph.len()] }),
            MatchingStrategy::Last => {
                let last = graph.nodes().map(|(_, node)| *node.ids.end()).max().unwrap_or(0);
                (0..=last).map(|id| (last - id) as u64).collect()
            }
            MatchingStrategy::Frequency => {
                let frequencies = resolver.frequencies(graph)?;
                let last = frequencies.keys().copied().max().unwrap_or(0);
                let frequency = |id| frequencies.get(&id).copied().unwrap_or(0);
                // A word without a document is useless: it is skipped first.
                let key = |id| match frequency(id) {
                    0 => 0,
                    frequency => u64::MAX - frequency,
                };
                (0..=last).map(key).collect()
            }
        };
        let is_phrase = |node: &TermNode| resolver.term(node).phrase.is_some();
        let key = |node: &TermNode| node.ids.clone().map(|id| order[id]).max();
        let mut keys: Vec<u64> =
            graph.nodes().filter(|(_, node)| !is_phrase(node)).filter_map(|(_, node)| key(node)).collect();
        keys.sort_unstable();
        keys.dedup();
        if !graph.nodes().any(|(_, node)| is_phrase(node)) {
            keys.pop();
        }
        let group = |node: &TermNode| {
            let key = key(node).filter(|_| !is_phrase(node))?;
            keys.binary_search(&key).ok().map(|at| at + 1)
        };
        Ok(Self { group: graph.nodes().map(|(_, node)| group(node)).collect() })
    }
}
