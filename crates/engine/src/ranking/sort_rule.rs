//! Documents come by the values of a field, or by distance.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::SortCriterion;
use super::score::ScoreDetail;
use crate::error::Result;
use crate::facets::{Columns, GeoBuckets, SortBuckets};
use crate::store::Snapshot;

/// Hands over documents by value, each distinct one a bucket; those without come last.
/// Source: search-semantics §9.
pub(super) struct SortRule<'a> {
    criterion: &'a SortCriterion,
    buckets: Buckets,
}

enum Buckets {
    Field(Box<SortBuckets>),
    Geo(Box<GeoBuckets>),
}

impl<'a> SortRule<'a> {
    /// Sorts `universe`.
    pub(super) fn new(
        snapshot: &Snapshot,
        criterion: &'a SortCriterion,
        universe: &RoaringBitmap,
    ) -> Result<Self> {
        let columns = Columns::new(snapshot);
        let buckets = match criterion {
            SortCriterion::Field { path, ascending } => {
                Buckets::Field(Box::new(columns.sort_buckets(path, *ascending, universe)?))
            }
            SortCriterion::Geo { origin, ascending } => {
                Buckets::Geo(Box::new(columns.geo_buckets(*origin, *ascending, universe)?))
            }
        };
        Ok(Self { criterion, buckets })
    }

    /// The next documents of `universe`, which may have lost some since the start.
    pub(super) fn next(
        &mut self,
        universe: &RoaringBitmap,
    ) -> Result<Option<(Arc<RoaringBitmap>, ScoreDetail)>> {
        while let Some((docs, detail)) = self.next_bucket()? {
            let docs = docs & universe;
            if !docs.is_empty() {
                return Ok(Some((Arc::new(docs), detail)));
            }
        }
        Ok(None)
    }

    fn next_bucket(&mut self) -> Result<Option<(RoaringBitmap, ScoreDetail)>> {
        Ok(match (&mut self.buckets, self.criterion) {
            (Buckets::Field(buckets), SortCriterion::Field { path, ascending }) => {
                buckets.next_bucket()?.map(|(value, docs)| {
                    (docs, ScoreDetail::Sort { field: path.clone(), ascending: *ascending, value })
                })
            }
            (Buckets::Geo(buckets), SortCriterion::Geo { origin, ascending }) => {
                buckets.next().map(|bucket| {
                    let (origin, ascending) = (*origin, *ascending);
                    (bucket.documents, ScoreDetail::Geo { origin, ascending, nearest: bucket.reference })
                })
            }
            _ => None,
        })
    }
}
