//! The interface of ranking rules: a rule splits documents into buckets, best first.

use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::score::ScoreDetail;
use crate::error::Result;
use crate::query::QueryGraph;

/// Documents that a rule considers equal.
pub(super) struct Bucket {
    /// Never empty.
    pub(super) docs: Arc<RoaringBitmap>,
    /// The result of the rule for these documents, the only source of scores and score details.
    pub(super) detail: ScoreDetail,
    /// The readings of the query that matched these documents. The next rule uses only these.
    pub(super) graph: Rc<QueryGraph>,
}

/// A ranking rule running on one universe of documents and one graph of the query.
///
/// - **Order.** Buckets come best first: documents of an earlier bucket rank above those of later ones.
/// - **Disjoint.** The caller removes the documents of a bucket from the universe before the next call, and no document
///   comes twice. The universe may lose other documents between calls (`distinct`); these come in no bucket either.
/// - **Covering.** Returns `None` only when the universe is empty: every document is in some bucket.
/// - **Deadline.** A rule that reads postings stops once the budget of [`crate::postings::Postings`] is spent. The
///   caller checks the budget after each call and drops a bucket that was cut short.
pub(super) trait RankingRule {
    /// Returns the best bucket of `universe`. Its graph may be empty unless `wants_graph`; the last rule needs none.
    ///
    /// # Errors
    /// Internal if a posting list or column cannot be decoded.
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, wants_graph: bool) -> Result<Option<Bucket>>;

    /// Returns the best bucket of `universe` for a page that lacks `at_most` documents, without a graph. The bucket may
    /// lack documents after its first `at_most`. `at_most` shrinks by the documents of each bucket.
    ///
    /// # Errors
    /// See [`Self::next_bucket`].
    fn first_of_bucket(&mut self, universe: &Arc<RoaringBitmap>, _at_most: usize) -> Result<Option<Bucket>> {
        self.next_bucket(universe, false)
    }
}

/// Starts a rule on a universe and the graph that the previous rule left.
type StartRule<'a> = dyn Fn(&Arc<RoaringBitmap>, Rc<QueryGraph>) -> Result<Box<dyn RankingRule + 'a>> + 'a;

/// A ranking rule of a search, before it starts.
pub(super) struct RuleSpec<'a> {
    /// Rules with the same key split documents the same way, so a second one has no effect.
    key: String,
    start: Box<StartRule<'a>>,
}

impl<'a> RuleSpec<'a> {
    /// A rule identified by `key` and started by `start`.
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

    /// Starts the rule on `universe`, whose documents match the readings of the query in `graph`.
    pub(super) fn start(
        &self,
        universe: &Arc<RoaringBitmap>,
        graph: Rc<QueryGraph>,
    ) -> Result<Box<dyn RankingRule + 'a>> {
        (self.start)(universe, graph)
    }
}
