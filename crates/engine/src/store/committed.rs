//! A commit of an index and the files it needs.

use std::sync::Arc;

use super::index_file::IndexFile;
use super::manifest::{CommitRecord, Manifest};
use super::snapshot::Snapshot;

/// A commit: its record, and the snapshot that readers see. Cheap to clone.
#[derive(Clone)]
pub struct Committed {
    /// The record stored with the commit.
    pub record: CommitRecord,
    /// The documents of the commit.
    pub snapshot: Snapshot,
    pub(super) manifest: Arc<Manifest>,
    /// All files of the manifest, held open so that none is removed while it is read.
    pub(super) files: Arc<[Arc<IndexFile>]>,
}
