//! Caches intermediate results of searches.
//!
//! The cache serves all indexes of an engine, within a limit of bytes. The owner of an entry is a commit, a segment or
//! an open column. An entry is found by its owner, its kind and a key of that kind. Owner ids are never reused, so an
//! entry never serves another commit or segment. Entries of dropped owners are removed for several owners at a time;
//! until then they age like all others.
//!
//! `quick_cache` (S3-FIFO) decides about eviction: entries without a second access go first, and entries that return
//! soon after their eviction stay longer. An evicted value lives as long as a search holds it.

mod counters;
mod entry;
pub(crate) mod kind;
mod shared;

pub use counters::{CacheFigures, KindFigures};
pub(crate) use kind::cached;
pub use kind::{Both, CachedKind, Kind};
pub use shared::{Cache, Owner};

#[cfg(test)]
mod tests;
