//! Prefers words close to their position in the query.

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::postings::bucketed;
use crate::query::{DerivationKinds, QueryGraph, Slot, TermNode, TermResolver};
use crate::ranking::cost::{CostBuckets, CostRule, CostSink, Step};
use crate::ranking::rule::RuleSpec;
use crate::ranking::score::{Rank, ScoreDetail};

/// A word costs the offset of its best position: the second word of a query is expected to be the second word of an
/// attribute, and so on. A phrase is at the position of its first word. Source: search §7.6.
struct WordPositionRule {
    /// True if it is the second half of the rule `attribute`.
    unified: bool,
}

/// `unified`: see [`WordPositionRule::unified`].
pub(super) fn spec<'a>(resolver: &'a TermResolver<'a>, unified: bool) -> RuleSpec<'a> {
    RuleSpec::new(format!("wordPosition, unified: {unified}"), move |universe, graph| {
        Ok(CostBuckets::new(WordPositionRule { unified }, resolver, graph, None, universe))
    })
}

/// Largest cost per term.
const OFFSET_COST_MAX: u32 = 10;

/// Largest offset of each cost.
const OFFSETS: [u32; OFFSET_COST_MAX as usize] = [0, 1, 4, 7, 11, 16, 24, 64, 256, 1024];

fn offset_cost(offset: u32) -> u32 {
    OFFSETS.iter().take_while(|&&reach| reach < offset).count() as u32
}

/// `position` is a bucketed position.
fn cost_at(node: &TermNode, position: u32) -> u32 {
    let offset = position.abs_diff(*node.positions.start());
    (0..node.width()).map(|further| offset_cost(offset + further)).sum()
}

impl CostRule for WordPositionRule {
    fn charge(
        &self,
        resolver: &TermResolver,
        Step { to: node, .. }: Step<'_>,
        universe: &RoaringBitmap,
        limit: u32,
        sink: &mut dyn CostSink,
    ) -> Result<()> {
        let cost = |position| Some(cost_at(node, position)).filter(|cost| *cost <= limit);
        let (postings, term) = (resolver.postings, resolver.term(node));
        for kind in node.kinds.each() {
            let words = term.words(kind);
            let is_prefix = kind == DerivationKinds::PREFIX && term.prefix_docs().is_some();
            let cached = match words {
                _ if is_prefix => postings.prefix_positions(&term.text, *node.positions.start(), universe)?,
                [word] => postings.word_positions(word, universe)?,
                _ => None,
            };
            if let Some(cached) = &cached {
                let by_position = cached.iter().filter_map(|(position, docs)| Some((cost(position)?, docs)));
                let mut cheapest_first: Vec<(u32, &RoaringBitmap)> = by_position.collect();
                cheapest_first.sort_by_key(|(cost, _)| *cost);
                cheapest_first.into_iter().for_each(|(cost, docs)| sink.all(docs, cost));
            }
            let mut read = |docid, _, positions: &[u32]| {
                if let Some(least) = positions.iter().filter_map(|&position| cost(bucketed(position))).min() {
                    sink.one(docid, least);
                }
            };
            match cached {
                Some(_) => {}
                None if is_prefix => postings.visit_prefix(&term.text, universe, &mut read)?,
                None => match term.occurrences(kind, postings, universe)? {
                    Some(cached) => cached.visit_within(universe, &mut read),
                    None => postings.visit_positions(words.iter(), universe, &mut read)?,
                },
            }
            for phrase in term.phrases(kind) {
                let Some(word) = resolver.slot_word(phrase, Slot::FirstWord)? else { continue };
                let docs = &*resolver.phrase_docs(phrase)? & universe;
                postings.visit_positions([&word].into_iter(), &docs, &mut read)?;
            }
        }
        Ok(())
    }

    fn cost_max(&self, _: &TermResolver, Step { to, .. }: Step<'_>) -> u32 {
        OFFSET_COST_MAX * to.width()
    }

    fn detail(&self, _: &TermResolver, _: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail {
        let rank = Rank { rank: cost_max - cost + 1, max: cost_max + 1 };
        ScoreDetail::WordPosition { rank, unified: self.unified }
    }
}
