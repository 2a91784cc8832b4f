//! Here is a directory, give me its newest commit; here is a commit, make it durable.

mod attachments;
mod directory;
mod document;
mod packed;
pub mod schema;
mod side_file;
mod snapshot;

pub use attachments::Attachments;
pub use directory::{CommitRecord, IndexDirectory, VectorLog, Writer, WriterLimits, in_memory};
pub use document::{ColumnValue, IndexedDocument, WrittenDocument};
pub use packed::{PackedText, PackedTokenizer};
pub use side_file::unique_name;
pub use snapshot::{DELETED, SegmentDocids, SegmentView, Snapshot, SnapshotParts};
