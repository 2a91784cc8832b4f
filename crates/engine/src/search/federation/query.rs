use crate::ranking::RankedHit;
use crate::search::multi::IndexedSearch;
use crate::search::ranked_search::RankedSearch;
use crate::search::request::SearchRequest;

/// A query of a federated search, with its ranked documents.
pub(super) struct Query<'s> {
    pub search: &'s IndexedSearch,
    pub request: SearchRequest,
    pub found: RankedSearch,
}

impl Query<'_> {
    /// Returns the hits within reach of paging.
    pub fn reachable(&self) -> &[RankedHit] {
        let hits = &self.found.ranked.hits;
        &hits[..hits.len().min(self.search.snapshot.settings().pagination.max_total_hits)]
    }
}
