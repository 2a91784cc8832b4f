//! What is a ranking rule? It splits documents into buckets, best first.

use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::score::ScoreDetail;
use crate::error::Result;
use crate::query::QueryGraph;

/// Documents that a rule holds equal.
pub(super) struct Bucket {
    /// Never empty.
    pub(super) docs: Arc<RoaringBitmap>,
    /// What the rule says of them; scores and score details come from it alone.
    pub(super) detail: ScoreDetail,
    /// The ways of reading the query by which they were found: the next rule knows no others.
    pub(super) graph: Rc<QueryGraph>,
}

/// A ranking rule at work on one universe of documents and one graph of the query.
///
/// - **Order.** Buckets come best first: a document of an earlier bucket stands before those of later ones.
/// - **Disjoint.** The caller takes the documents of a bucket out of the universe before it asks for the next
///   one, and no document comes twice. The universe may lose other documents in between (`distinct`); they come in
///   no bucket either.
/// - **Covering.** `None` comes only when the universe is empty: every document is in some bucket.
/// - **Deadline.** A rule that reads postings stops once the budget of [`crate::postings::Postings`] is spent. The
///   caller looks at the budget after each call and drops a bucket that was cut short.
pub(super) trait RankingRule {
    /// The best bucket of `universe`. Its graph may be empty unless `wants_graph`: the last rule hands it to no other.
    ///
    /// # Errors
    /// Internal: a posting list or column does not decode.
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, wants_graph: bool) -> Result<Option<Bucket>>;
}

/// Sets a rule to work on a universe and the graph that the rule before has left.
type StartRule<'a> = dyn Fn(&Arc<RoaringBitmap>, Rc<QueryGraph>) -> Result<Box<dyn RankingRule + 'a>> + 'a;

/// A ranking rule that a search asks for.
pub(super) struct RuleSpec<'a> {
    /// Rules of one key leave the same documents equal, so that a second one has no effect.
    key: String,
    start: Box<StartRule<'a>>,
}

impl<'a> RuleSpec<'a> {
    /// A rule that is told from others by `key` and begins with `start`.
    pub(super) fn new<R: RankingRule + 'a>(
        key: impl Into<String>,
        start: impl Fn(&Arc<RoaringBitmap>, Rc<QueryGraph>) -> Result<R> + 'a,
    ) -> Self {
        let start = move |universe: &Arc<RoaringBitmap>, graph| {
            start(universe, graph).map(|rule| Box::new(rule) as Box<dyn RankingRule + 'a>)
        };
        Self { key: key.into(), start: Box::new(start) }
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The rule at work on `universe`, whose documents were found by the ways of reading in `graph`.
    pub(super) fn start(
        &self,
        universe: &Arc<RoaringBitmap>,
        graph: Rc<QueryGraph>,
    ) -> Result<Box<dyn RankingRule + 'a>> {
        (self.start)(universe, graph)
    }
}
