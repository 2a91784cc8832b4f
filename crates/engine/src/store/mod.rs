//! Stores the commits of an index: opens the newest commit of a directory and makes new commits durable.

mod attachments;
mod background_merge;
pub mod buckets;
mod commit;
mod commit_file;
mod committed;
mod copy;
mod directory;
mod disk;
mod docid_set;
mod docids;
mod document;
mod index_file;
mod layout;
mod manifest;
mod merge;
mod packed;
mod salvage;
pub mod schema;
mod segment;
mod segment_builder;
mod segment_files;
mod short_prefixes;
mod snapshot;
mod undo;
mod verify;

pub use attachments::Attachments;
pub use background_merge::Merge;
pub use commit::Change;
pub use committed::Committed;
pub use directory::IndexDirectory;
pub use disk::{Disk, DiskFile, FileIdentity, Folder, sync_directory, unique_name};
pub use docid_set::{DocidSet, ascending, bitmap_bytes};
pub use docids::DELETED;
pub use document::{ColumnValue, IndexedDocument, WrittenDocument};
pub use layout::Layout;
pub use manifest::{CommitRecord, VectorLog};
pub use merge::Effort;
pub use packed::{PackedText, PackedTokenizer};
pub use salvage::Salvage;
pub use segment::SegmentView;
pub use segment_builder::{NewSegment, SegmentBuilder};
pub use segment_files::Spill;
pub use short_prefixes::{
    ForwardLists, ShortPrefix, ShortPrefixPosting, ShortPrefixPostings, WordSide, Words,
};
pub use snapshot::{Snapshot, SnapshotParts};

#[cfg(test)]
mod tests;
