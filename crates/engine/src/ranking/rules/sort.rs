//! Orders documents by the values of a field.

use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::facets::{Columns, SortBuckets};
use crate::query::QueryGraph;
use crate::ranking::rule::{Bucket, RankingRule, RuleSpec};
use crate::ranking::score::ScoreDetail;
use crate::store::Snapshot;

/// Each distinct value forms a bucket; documents without a value come last. Source: search §9.
struct SortRule {
    graph: Rc<QueryGraph>,
    field: String,
    ascending: bool,
    buckets: SortBuckets,
}

/// The direction is not part of the key: sorting again by the same field has no effect.
pub(super) fn spec<'a>(snapshot: &'a Snapshot, field: &str, ascending: bool) -> RuleSpec<'a> {
    let (key, field) = (format!("sort by {field}"), field.to_owned());
    RuleSpec::new(key, move |universe, graph| {
        let buckets = Columns::new(snapshot).sort_buckets(&field, ascending, universe)?;
        Ok(SortRule { graph, field: field.clone(), ascending, buckets })
    })
}

impl RankingRule for SortRule {
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, _: bool) -> Result<Option<Bucket>> {
        self.first_of_bucket(universe, usize::MAX)
    }

    fn first_of_bucket(&mut self, universe: &Arc<RoaringBitmap>, at_most: usize) -> Result<Option<Bucket>> {
        while let Some((value, docs)) = self.buckets.first_of_bucket(at_most)? {
            let docs = docs & &**universe;
            if !docs.is_empty() {
                let detail =
                    ScoreDetail::Sort { field: self.field.clone(), ascending: self.ascending, value };
                return Ok(Some(Bucket { docs: Arc::new(docs), detail, graph: Rc::clone(&self.graph) }));
            }
        }
        Ok(None)
    }
}
