//! Here are ranked hits: which of them are on the page?

use std::ops::Range;

use super::request::Paging;

impl Paging {
    /// Positions of the hits on the page, none of them from `reachable` on.
    pub(super) fn window(self, reachable: usize) -> Range<usize> {
        let (start, len) = match self {
            Self::Offset { offset, limit } => (offset, limit),
            Self::Page { page: 0, .. } => (0, 0),
            Self::Page { page, hits_per_page } => ((page - 1).saturating_mul(hits_per_page), hits_per_page),
        };
        start.min(reachable)..start.saturating_add(len).min(reachable)
    }

    /// Whether totals have to be exact.
    pub(super) fn is_exhaustive(self) -> bool {
        matches!(self, Self::Page { .. })
    }

    /// Writes the members of an answer that concern pages, after a comma. `total`: the number of all hits.
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
