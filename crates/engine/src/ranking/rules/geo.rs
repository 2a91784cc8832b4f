//! Orders documents by their distance from a point.

use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use crate::error::Result;
use crate::facets::{Columns, GeoBuckets, GeoPoint};
use crate::query::QueryGraph;
use crate::ranking::rule::{Bucket, RankingRule, RuleSpec};
use crate::ranking::score::ScoreDetail;
use crate::store::Snapshot;

/// Documents at about the same distance form a bucket; documents without a point come last. Source: search §9.
struct GeoRule {
    graph: Rc<QueryGraph>,
    origin: GeoPoint,
    ascending: bool,
    buckets: GeoBuckets,
}

pub(super) fn spec<'a>(snapshot: &'a Snapshot, origin: GeoPoint, ascending: bool) -> RuleSpec<'a> {
    let key = format!("distance from {}, {}; ascending: {ascending}", origin.lat, origin.lng);
    RuleSpec::new(key, move |universe, graph| {
        let buckets = Columns::new(snapshot).geo_buckets(origin, ascending, universe)?;
        Ok(GeoRule { graph, origin, ascending, buckets })
    })
}

impl RankingRule for GeoRule {
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, _: bool) -> Result<Option<Bucket>> {
        let Self { origin, ascending, .. } = *self;
        for bucket in self.buckets.by_ref() {
            let docs = bucket.documents & &**universe;
            if !docs.is_empty() {
                let detail = ScoreDetail::Geo { origin, ascending, nearest: bucket.reference };
                return Ok(Some(Bucket { docs: Arc::new(docs), detail, graph: Rc::clone(&self.graph) }));
            }
        }
        Ok(None)
    }
}
