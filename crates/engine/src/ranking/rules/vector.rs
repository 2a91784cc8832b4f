//! Orders documents by the distance of their vectors; documents without vectors come last.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::query::QueryGraph;
use crate::ranking::rule::{Bucket, RankingRule, RuleSpec};
use crate::ranking::score::ScoreDetail;
use crate::vector::{Nearest, Neighbours};

/// Documents at the same distance form a bucket. Source: vectors §6.5, §6.6.
struct VectorRule {
    graph: Rc<QueryGraph>,
    neighbours: Neighbours,
}

/// Orders documents by `nearest`, expecting that `wanted` of them are taken. After `deadline` the order is incomplete;
/// by then the caller has stopped.
pub(super) fn spec<'a>(nearest: &'a Nearest, wanted: usize, deadline: Instant) -> RuleSpec<'a> {
    RuleSpec::new("vector", move |universe, graph| {
        Ok(VectorRule { graph, neighbours: nearest.among(universe, wanted, deadline)? })
    })
}

impl RankingRule for VectorRule {
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, _: bool) -> Result<Option<Bucket>> {
        let graph = Rc::clone(&self.graph);
        while let Some((docs, similarity)) = self.neighbours.next_bucket(universe)? {
            let docs = docs & &**universe;
            if !docs.is_empty() {
                let detail = ScoreDetail::Vector { similarity: Some(similarity) };
                return Ok(Some(Bucket { docs: Arc::new(docs), detail, graph }));
            }
        }
        let detail = ScoreDetail::Vector { similarity: None };
        Ok((!universe.is_empty()).then(|| Bucket { docs: Arc::clone(universe), detail, graph }))
    }
}
