//! Documents in order, and what the rules said of them.

use roaring::RoaringBitmap;

use super::score::ScoreDetail;
use crate::query::HighlightTerms;

/// Documents in order.
#[derive(Debug)]
pub struct Ranked {
    /// The first `wanted`, best first.
    pub hits: Vec<RankedHit>,
    /// All that match, less those known to be left out by `distinct` or `threshold`.
    pub candidates: RoaringBitmap,
    /// What to highlight.
    pub highlight_terms: HighlightTerms,
    /// Time ran out.
    pub degraded: bool,
    /// Something in the query was ruled out with `-`.
    pub used_negative_operator: bool,
    /// Terms of the query.
    pub terms: usize,
}

/// A document and what the rules said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedHit {
    /// The document.
    pub docid: u32,
    /// In order of the rules.
    pub scores: Vec<ScoreDetail>,
}

impl RankedHit {
    /// Between 0 and 1; 1 if there was nothing to match.
    pub fn score(&self) -> f64 {
        ScoreDetail::global_score(&self.scores)
    }
}
