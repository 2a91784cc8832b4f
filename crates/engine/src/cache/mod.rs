//! Here is something that was worked out before: is it still there?
//!
//! One cache serves all indexes of an engine, within one bound of bytes. An entry belongs to a commit, a segment or an open
//! column, its owner; it is found by that owner, its kind and a key of that kind. Owners are numbered and no number is given twice,
//! so that an entry never answers for a commit or a segment that it was not made for. Entries of owners that are gone
//! are removed some owners at a time; those that are left meanwhile age like all others.
//!
//! What is evicted is decided by `quick_cache` (S3-FIFO): an entry that was never asked for again goes first, and one
//! that comes back soon after it was evicted stays longer. A value that was evicted lives as long as a search holds it.

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
