//! A commit of an index and the files it needs.

use std::sync::Arc;

use super::index_file::IndexFile;
use super::manifest::{CommitRecord, Manifest};
use super::snapshot::Snapshot;

/// A commit: what it says, and what readers see of it. Cheap to clone.
#[derive(Clone)]
pub struct Committed {
    /// What it carries.
    pub record: CommitRecord,
    /// Its documents.
    pub snapshot: Snapshot,
    pub(super) manifest: Arc<Manifest>,
    /// Everything it names, so that nothing of it goes while it is read.
    pub(super) files: Arc<[Arc<IndexFile>]>,
}
