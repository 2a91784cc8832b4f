//! An index: its newest commit for readers, and at most one batch in preparation for the next.

mod follow;
mod limits;
mod merge;
mod open_index;
mod pinned;
mod prepared;
mod read;
mod rescue;
mod stats;
mod verify;
mod warm_up;
mod write;

pub use limits::Limits;
pub use open_index::{Index, IndexServices};
pub use pinned::PinnedIndex;
pub use rescue::{Rescued, rescue};
pub use stats::{IndexSizes, IndexStats};
pub use verify::Damage;

#[cfg(test)]
mod cache_tests;
#[cfg(test)]
mod follow_tests;
