//! The vectors of one embedder as a commit refers to them, read when first needed.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::log::Log;
use super::vector_index::VectorIndex;
use super::vector_set::VectorSet;
use crate::background_fault::FaultReporter;
use crate::error::Result;
use crate::store::VectorLog;

/// The vectors of one embedder, whether read yet or not.
pub struct EmbedderVectors {
    pub(super) reference: VectorLog,
    pub(super) path: PathBuf,
    pub(super) faults: FaultReporter,
    pub(super) read: OnceLock<VectorIndex>,
}

impl EmbedderVectors {
    /// Vectors that were just written.
    pub fn written(index: VectorIndex) -> Self {
        let set = index.set();
        let path = set.log().path().to_owned();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let reference = VectorLog { file, bytes: set.log().end(), sequence: set.sequence() };
        let faults = index.graphs().faults().clone();
        Self { reference, path, faults, read: OnceLock::from(index) }
    }

    /// The vectors, read from the log when first asked for.
    ///
    /// # Errors
    /// Internal, naming the file, if the log is damaged.
    pub fn index(&self) -> Result<VectorIndex> {
        if let Some(index) = self.read.get() {
            return Ok(index.clone());
        }
        let log = Log::open(&self.path, self.reference.bytes)?;
        let index = VectorIndex::new(VectorSet::read(log, self.reference.sequence)?, &self.faults);
        Ok(self.read.get_or_init(|| index).clone())
    }
}
