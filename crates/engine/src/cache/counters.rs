//! Counts hits, misses, entries and bytes of the cache.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::Serialize;

use super::kind::Kind;

/// Figures of a cache. Shape: `CacheFigures` in `ts/engine/engine.ts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheFigures {
    /// Limit for the bytes of all entries.
    pub bytes_max: usize,
    /// By kind, in the order of [`Kind::ALL`].
    pub kinds: Vec<KindFigures>,
}

/// Figures of one kind of entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindFigures {
    /// [`Kind::name`].
    pub kind: &'static str,
    /// Lookups that found an entry, since the cache was made.
    pub hits: u64,
    /// Lookups that found no entry.
    pub misses: u64,
    /// Entries in the cache now.
    pub entries: usize,
    /// Their size in bytes.
    pub bytes: usize,
}

impl CacheFigures {
    /// Bytes of all entries.
    pub fn bytes(&self) -> usize {
        self.kinds.iter().map(|kind| kind.bytes).sum()
    }
}

const KINDS: usize = Kind::ALL.len();

/// Threads count in separate stripes: a number that all of them write would move between processor caches all the time.
const STRIPES: usize = 16;

/// Counts by kind.
pub(super) struct Counters {
    asked: [Stripe; STRIPES],
    entries: [AtomicUsize; KINDS],
    bytes: [AtomicUsize; KINDS],
}

/// Counts of some of the threads.
#[repr(align(128))]
struct Stripe {
    hits: [AtomicU64; KINDS],
    misses: [AtomicU64; KINDS],
}

thread_local! {
    static STRIPE: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % STRIPES
    };
}

impl Default for Stripe {
    fn default() -> Self {
        let none = || std::array::from_fn(|_| AtomicU64::new(0));
        Self { hits: none(), misses: none() }
    }
}

impl Default for Counters {
    fn default() -> Self {
        let none = || std::array::from_fn(|_| AtomicUsize::new(0));
        Self { asked: Default::default(), entries: none(), bytes: none() }
    }
}

impl Counters {
    pub(super) fn asked(&self, kind: Kind, found: bool) {
        let stripe = &self.asked[STRIPE.with(|stripe| *stripe)];
        let counts = if found { &stripe.hits } else { &stripe.misses };
        counts[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn added(&self, kind: Kind, bytes: usize) {
        self.entries[kind as usize].fetch_add(1, Ordering::Relaxed);
        self.bytes[kind as usize].fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn removed(&self, kind: Kind, bytes: usize) {
        self.entries[kind as usize].fetch_sub(1, Ordering::Relaxed);
        self.bytes[kind as usize].fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn figures(&self, bytes_max: usize) -> CacheFigures {
        let sum = |count: &dyn Fn(&Stripe) -> &AtomicU64| {
            self.asked.iter().map(|stripe| count(stripe).load(Ordering::Relaxed)).sum()
        };
        let of_kind = |kind: &Kind| {
            let at = *kind as usize;
            KindFigures {
                kind: kind.name(),
                hits: sum(&|stripe| &stripe.hits[at]),
                misses: sum(&|stripe| &stripe.misses[at]),
                entries: self.entries[at].load(Ordering::Relaxed),
                bytes: self.bytes[at].load(Ordering::Relaxed),
            }
        };
        CacheFigures { bytes_max, kinds: Kind::ALL.iter().map(of_kind).collect() }
    }
}
