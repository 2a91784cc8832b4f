//! The input of ranking: documents, query, options and deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use roaring::RoaringBitmap;

use crate::facets::GeoPoint;
use crate::postings::{Budget, OVERDRAFT};
pub use crate::settings::MatchingStrategy;
use crate::vector::Nearest;

/// Input and options of a ranking.
#[derive(Debug, Clone)]
pub struct RankRequest<'a> {
    /// If None or blank, every document matches.
    pub q: Option<&'a str>,
    /// Documents in play: those that pass the filter.
    pub universe: Arc<RoaringBitmap>,
    /// Tells which words may be missing.
    pub strategy: MatchingStrategy,
    /// Attributes or patterns to search. None: all searchable attributes.
    pub search_on: Option<&'a [String]>,
    /// Three-letter codes of the languages the query may be in. None: the languages of the searched attributes.
    pub locales: Option<&'a [String]>,
    /// The criteria that replace the rule `sort`.
    pub sort: &'a [SortCriterion],
    /// At most one hit per value of this attribute.
    pub distinct: Option<&'a str>,
    /// Excludes documents with a lower score, as soon as ranking can tell.
    pub threshold: Option<f64>,
    /// Number of hits to rank, counted from the first.
    pub wanted: usize,
    /// Count candidates as if all were ranked: with `distinct`, read the value of every document.
    pub exhaustive: bool,
    /// Compares vectors instead of words; `q` is ignored then.
    pub vector: Option<Arc<Nearest>>,
    /// Ranks by `vector` alone, whatever the ranking rules of the settings are.
    pub only_by_vector: bool,
    /// When to stop ranking; the remaining documents come in docid order.
    pub deadline: Deadline,
    /// True if the caller reads [`super::RankedHit::scores`]; otherwise they may be incomplete.
    pub scored: bool,
}

/// When to stop ranking: at a time, or once the client has disconnected.
#[derive(Debug, Clone)]
pub struct Deadline {
    at: Instant,
    stop: Option<Arc<AtomicBool>>,
}

impl Deadline {
    /// Stops at `at`, or once `stop` is set.
    pub fn new(at: Instant, stop: Option<Arc<AtomicBool>>) -> Self {
        Self { at, stop }
    }

    /// Returns true if it is time to stop.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.at || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The latest time to stop.
    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// Returns the budget of a search with this deadline.
    pub(super) fn budget(&self) -> Budget {
        let Some(stop) = &self.stop else { return Budget::until(self.at) };
        // After the client has disconnected, the clock returns a time past the time to finish.
        let (stop, over) = (Arc::clone(stop), self.at + OVERDRAFT);
        Budget::by(self.at, move || if stop.load(Ordering::Relaxed) { over } else { Instant::now() })
    }
}

impl From<Instant> for Deadline {
    fn from(at: Instant) -> Self {
        Self::new(at, None)
    }
}

/// A criterion of a request's `sort`, or a custom ranking rule.
#[derive(Debug, Clone, PartialEq)]
pub enum SortCriterion {
    /// By the best value of a field.
    Field {
        /// Dotted path.
        path: String,
        /// Smallest first.
        ascending: bool,
    },
    /// By distance from a point.
    Geo {
        /// Where distances start.
        origin: GeoPoint,
        /// Nearest first.
        ascending: bool,
    },
}
