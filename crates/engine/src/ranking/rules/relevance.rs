//! Prefers documents that match the words of the query well and often: BM25F over the searchable attributes.

use std::cell::OnceCell;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::query::{QueryGraph, TermResolver};
use crate::ranking::relevance::{NEARNESS_DOCUMENTS_MAX, Scores};
use crate::ranking::rule::{Bucket, RankingRule, RuleSpec};
use crate::ranking::score::{Rank, ScoreDetail};

/// Scores depend on the complete query and on the live documents of the index, neither on earlier rules nor on the
/// filter. Words near each other count for the best documents only, because reading positions is expensive.
struct RelevanceRule {
    scores: Rc<Scores>,
    graph: Rc<QueryGraph>,
    /// The best documents, whose scores include nearness; the best at the end.
    best: Vec<Scored>,
    /// The rest.
    others: BinaryHeap<Scored>,
}

/// A document with its score. Greater is better; of equal scores, the smaller docid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Scored {
    score: u32,
    docid: std::cmp::Reverse<u32>,
}

/// `query` holds all readings of the query.
pub(super) fn spec<'a>(resolver: &'a TermResolver<'a>, query: &'a QueryGraph) -> RuleSpec<'a> {
    let scores = OnceCell::new();
    RuleSpec::new("relevance", move |universe, graph| {
        let scores: &Rc<Scores> = match scores.get() {
            Some(scores) => scores,
            None => scores.get_or_init({
                let scores = Rc::new(Scores::new(resolver, query)?);
                || scores
            }),
        };
        RelevanceRule::new(Rc::clone(scores), resolver, universe, graph)
    })
}

impl RelevanceRule {
    fn new(
        scores: Rc<Scores>,
        resolver: &TermResolver,
        universe: &RoaringBitmap,
        graph: Rc<QueryGraph>,
    ) -> Result<Self> {
        let scored = |docid| Scored { score: scores.sum(docid), docid: std::cmp::Reverse(docid) };
        let mut others: BinaryHeap<Scored> = universe.iter().map(scored).collect();
        let mut best = Vec::new();
        if scores.has_pairs() {
            best.extend(std::iter::from_fn(|| others.pop()).take(NEARNESS_DOCUMENTS_MAX));
            let docs: RoaringBitmap = best.iter().map(|scored| scored.docid.0).collect();
            let nearness = scores.nearness(resolver, &docs)?;
            for scored in &mut best {
                scored.score += nearness.get(&scored.docid.0).copied().unwrap_or(0);
            }
            best.sort_unstable();
        }
        Ok(Self { scores, graph, best, others })
    }

    fn bucket(&self, score: u32, docs: RoaringBitmap) -> Bucket {
        let rank = Rank { rank: score.min(self.scores.max()) + 1, max: self.scores.max() + 1 };
        Bucket { docs: Arc::new(docs), detail: ScoreDetail::Relevance(rank), graph: Rc::clone(&self.graph) }
    }
}

impl RankingRule for RelevanceRule {
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, _: bool) -> Result<Option<Bucket>> {
        loop {
            let mut docs = RoaringBitmap::new();
            let score = if let Some(&Scored { score, .. }) = self.best.last() {
                while let Some(scored) = self.best.pop_if(|scored| scored.score == score) {
                    docs.insert(scored.docid.0);
                }
                score
            } else {
                let Some(&Scored { score, .. }) = self.others.peek() else { return Ok(None) };
                while let Some(scored) = self.others.peek().filter(|scored| scored.score == score) {
                    docs.insert(scored.docid.0);
                    self.others.pop();
                }
                score
            };
            // `distinct` may have removed documents meanwhile.
            docs &= &**universe;
            if !docs.is_empty() {
                return Ok(Some(self.bucket(score, docs)));
            }
        }
    }
}
