//! Here is a directory, give me its newest commit; here is a commit, make it durable.

mod attachments;
pub mod schema;
mod snapshot;

pub use attachments::Attachments;
pub use snapshot::{DELETED, SegmentDocids, SegmentView, Snapshot, SnapshotParts};
