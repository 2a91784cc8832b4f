//! What to rank, how, and until when.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use roaring::RoaringBitmap;

use crate::facets::GeoPoint;
use crate::postings::{Budget, OVERDRAFT};
use crate::vector::Nearest;

/// What to rank, and how.
#[derive(Debug, Clone)]
pub struct RankRequest<'a> {
    /// None or blank: every document matches.
    pub q: Option<&'a str>,
    /// Documents in play: those that pass the filter.
    pub universe: Arc<RoaringBitmap>,
    /// Which words may be missing.
    pub strategy: MatchingStrategy,
    /// Attributes or patterns words are looked for in; None: all searchable ones.
    pub search_on: Option<&'a [String]>,
    /// Three-letter codes of the languages the query may be in; None: those of the attributes searched.
    pub locales: Option<&'a [String]>,
    /// What the rule `sort` stands for.
    pub sort: &'a [SortCriterion],
    /// At most one hit per value of this attribute.
    pub distinct: Option<&'a str>,
    /// Documents scoring less are left out, as soon as it shows.
    pub threshold: Option<f64>,
    /// As many hits as are ranked, from the first.
    pub wanted: usize,
    /// Count candidates as if all were ranked: with `distinct`, look at every one.
    pub exhaustive: bool,
    /// Compares vectors where words would be compared; `q` is not looked at then.
    pub vector: Option<Arc<Nearest>>,
    /// When to stop ranking; what is left comes in docid order.
    pub deadline: Deadline,
    /// Whether the caller reads [`super::RankedHit::scores`]; otherwise they may be incomplete.
    pub scored: bool,
}

/// When to stop ranking: at a time, or as soon as the client has gone.
#[derive(Debug, Clone)]
pub struct Deadline {
    at: Instant,
    stop: Option<Arc<AtomicBool>>,
}

impl Deadline {
    /// At `at`, or once `stop` is set.
    pub fn new(at: Instant, stop: Option<Arc<AtomicBool>>) -> Self {
        Self { at, stop }
    }

    /// The latest time.
    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// The time of a search that has to end by then.
    pub(super) fn budget(&self) -> Budget {
        let Some(stop) = &self.stop else { return Budget::until(self.at) };
        // Once the client has gone, the clock says that even the time to finish is over.
        let (stop, over) = (Arc::clone(stop), self.at + OVERDRAFT);
        Budget::by(self.at, move || if stop.load(Ordering::Relaxed) { over } else { Instant::now() })
    }
}

impl From<Instant> for Deadline {
    fn from(at: Instant) -> Self {
        Self::new(at, None)
    }
}

/// Which words of a query may be missing in a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchingStrategy {
    /// Those at the end.
    Last,
    /// None.
    All,
    /// The commonest.
    Frequency,
}

impl MatchingStrategy {
    /// Whether a hit may lack a word.
    pub(super) fn can_lack_words(self) -> bool {
        self != Self::All
    }
}

/// One criterion of a request's `sort`, or a custom ranking rule.
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
