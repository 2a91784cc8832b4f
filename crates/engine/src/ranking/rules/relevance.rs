//! Prefers documents that match the words of the query well and often: BM25F over the searchable attributes.

use std::cell::OnceCell;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::query::{QueryGraph, TermResolver};
use crate::ranking::relevance::{NEARNESS_DOCUMENTS_MAX, Scores, rank};
use crate::ranking::rule::{Bucket, RankingRule, RuleSpec};
use crate::ranking::score::ScoreDetail;

/// Scores depend on the complete query and on the live documents of the index, neither on earlier rules nor on the
/// filter. Words near each other count for the best documents only, because reading positions is expensive.
struct RelevanceRule<'a> {
    scores: Rc<Scores<'a>>,
    graph: Rc<QueryGraph>,
    /// The best documents, whose scores include nearness; the best at the end.
    best: Vec<Scored>,
    /// The rest, once it is needed.
    others: Option<BinaryHeap<Scored>>,
    /// All documents of the universe that are not among the best.
    rest: RoaringBitmap,
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
        let scores: &Rc<Scores<'a>> = match scores.get() {
            Some(scores) => scores,
            None => scores.get_or_init({
                let scores = Rc::new(Scores::new(resolver, query)?);
                || scores
            }),
        };
        RelevanceRule::new(Rc::clone(scores), universe, graph)
    })
}

impl<'a> RelevanceRule<'a> {
    fn new(scores: Rc<Scores<'a>>, universe: &RoaringBitmap, graph: Rc<QueryGraph>) -> Result<Self> {
        let ranked = scores.best(universe, NEARNESS_DOCUMENTS_MAX)?;
        let docs: RoaringBitmap = ranked.iter().map(|(docid, _)| *docid).collect();
        let nearness = scores.nearness(&docs)?;
        let scored = |(docid, score): (u32, u32)| Scored {
            score: score + nearness.get(&docid).copied().unwrap_or(0),
            docid: std::cmp::Reverse(docid),
        };
        let mut best: Vec<Scored> = ranked.into_iter().map(scored).collect();
        best.sort_unstable();
        Ok(Self { scores, graph, best, others: None, rest: universe - docs })
    }

    fn bucket(&self, score: u32, docs: RoaringBitmap) -> Bucket {
        let detail = ScoreDetail::Relevance(rank(score, self.scores.max()));
        Bucket { docs: Arc::new(docs), detail, graph: Rc::clone(&self.graph) }
    }

    /// Removes and returns the next document.
    fn next(&mut self) -> Result<Option<Scored>> {
        if let Some(scored) = self.best.pop() {
            return Ok(Some(scored));
        }
        Ok(self.others()?.pop())
    }

    fn others(&mut self) -> Result<&mut BinaryHeap<Scored>> {
        if self.others.is_none() {
            let sums = if self.rest.is_empty() { None } else { Some(self.scores.all()?) };
            let score = |docid| sums.as_ref().map_or(0, |sums| sums.of(docid));
            let scored = |docid| Scored { score: score(docid), docid: std::cmp::Reverse(docid) };
            self.others = Some(self.rest.iter().map(scored).collect());
        }
        Ok(self.others.get_or_insert_default())
    }
}

impl RankingRule for RelevanceRule<'_> {
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, wants_graph: bool) -> Result<Option<Bucket>> {
        while let Some(first) = self.next()? {
            let mut docs = RoaringBitmap::from([first.docid.0]);
            let is_equal = |scored: &Scored| scored.score == first.score;
            while let Some(scored) = self.best.pop_if(|scored| is_equal(scored)) {
                docs.insert(scored.docid.0);
            }
            // Later rules get all equal documents together. Without later rules they come by docid in any case.
            if wants_graph && self.best.is_empty() && !self.scores.has_pairs() {
                self.others()?;
            }
            while let Some(scored) = self.others.as_mut().and_then(|others| pop_if(others, is_equal)) {
                docs.insert(scored.docid.0);
            }
            // `distinct` may have removed documents meanwhile.
            docs &= &**universe;
            if !docs.is_empty() {
                return Ok(Some(self.bucket(first.score, docs)));
            }
        }
        Ok(None)
    }
}

fn pop_if(heap: &mut BinaryHeap<Scored>, wanted: impl Fn(&Scored) -> bool) -> Option<Scored> {
    heap.peek().is_some_and(wanted).then(|| heap.pop()).flatten()
}
