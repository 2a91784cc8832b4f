//! Ranked documents with the results of the rules.

use roaring::RoaringBitmap;

use super::score::ScoreDetail;
use crate::query::HighlightTerms;

/// Documents in order.
#[derive(Debug)]
pub struct Ranked {
    /// The first `wanted`, best first.
    pub hits: Vec<RankedHit>,
    /// All matches, except those known to be excluded by `distinct` or `threshold`.
    pub candidates: RoaringBitmap,
    /// Terms for highlighting.
    pub highlight_terms: HighlightTerms,
    /// True if time ran out.
    pub degraded: bool,
    /// True if the query excludes something with `-`.
    pub used_negative_operator: bool,
    /// Number of terms in the query.
    pub terms: usize,
}

/// A document and the results of the rules for it.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedHit {
    /// The document.
    pub docid: u32,
    /// In order of the rules.
    pub scores: Vec<ScoreDetail>,
}

impl RankedHit {
    /// Between 0 and 1. Without anything to match, 1.
    pub fn score(&self) -> f64 {
        ScoreDetail::global_score(&self.scores)
    }

    /// The weight that dynamic search rules give to the document. Without any, 1.
    pub fn scale(&self) -> f64 {
        ScoreDetail::scale(&self.scores)
    }
}
