use crate::ranking::RankedHit;
use crate::search::multi::IndexedSearch;
use crate::search::ranked_search::RankedSearch;
use crate::search::request::SearchRequest;

/// One query, ranked.
pub(super) struct Query<'s> {
    pub search: &'s IndexedSearch,
    pub request: SearchRequest,
    pub found: RankedSearch,
}

impl Query<'_> {
    /// Hits that paging can get to.
    pub fn reachable(&self) -> &[RankedHit] {
        let hits = &self.found.ranked.hits;
        &hits[..hits.len().min(self.search.snapshot.settings().pagination.max_total_hits)]
    }
}
