//! Here is a directory, give me its newest commit; here is a commit, make it durable.

pub mod schema;
mod snapshot;

pub use snapshot::{SegmentDocids, SegmentView, Snapshot, SnapshotParts};
