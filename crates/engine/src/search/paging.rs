//! Selects the hits of a page.

use std::ops::Range;

use super::request::Paging;

impl Paging {
    /// Returns the positions of the hits on the page, limited to positions below `reachable`.
    pub(super) fn window(self, reachable: usize) -> Range<usize> {
        let (start, len) = match self {
            Self::Offset { offset, limit } => (offset, limit),
            Self::Page { page: 0, .. } => (0, 0),
            Self::Page { page, hits_per_page } => ((page - 1).saturating_mul(hits_per_page), hits_per_page),
        };
        start.min(reachable)..start.saturating_add(len).min(reachable)
    }

    /// Returns true if totals must be exact.
    pub(super) fn is_exhaustive(self) -> bool {
        matches!(self, Self::Page { .. })
    }

    /// Writes the paging members of an answer, after a comma. `total`: number of all hits.
    pub(super) fn write(self, total: u64, out: &mut Vec<u8>) {
        let text = match self {
            Self::Offset { offset, limit } => {
                format!(",\"limit\":{limit},\"offset\":{offset},\"estimatedTotalHits\":{total}")
            }
            Self::Page { page, hits_per_page } => {
                let pages = if hits_per_page == 0 { 0 } else { total.div_ceil(hits_per_page as u64) };
                format!(
                    ",\"hitsPerPage\":{hits_per_page},\"page\":{page},\"totalPages\":{pages},\"totalHits\":{total}"
                )
            }
        };
        out.extend_from_slice(text.as_bytes());
    }
}
