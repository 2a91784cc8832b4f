//! The vectors of an embedder in a commit, read when first needed.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::graphs::GraphFiles;
use super::log::Log;
use super::vector_index::VectorIndex;
use super::vector_set::VectorSet;
use crate::background_fault::FaultReporter;
use crate::error::Result;
use crate::store::VectorLog;

/// The vectors of an embedder, read or unread.
pub struct EmbedderVectors {
    pub(super) reference: VectorLog,
    pub(super) path: PathBuf,
    pub(super) faults: FaultReporter,
    files: GraphFiles,
    /// The log, mapped when first needed. From then on it stays readable, even after a compaction has removed its file.
    log: OnceLock<Log>,
    pub(super) read: OnceLock<VectorIndex>,
}

impl EmbedderVectors {
    /// Creates the unread vectors of a commit.
    pub fn unread(path: PathBuf, reference: VectorLog, faults: FaultReporter, files: GraphFiles) -> Self {
        Self { reference, path, faults, files, log: OnceLock::new(), read: OnceLock::new() }
    }

    /// Opens the vectors of a commit by another process. Reads them if those of the previous commit are read.
    ///
    /// # Errors
    /// Internal, naming the file, if the log is too short, not a log, or damaged.
    pub fn adopted(
        path: PathBuf,
        reference: VectorLog,
        faults: FaultReporter,
        before: Option<&Self>,
    ) -> Result<Self> {
        let vectors = Self::unread(path, reference, faults, GraphFiles::Followed);
        let log = vectors.log()?.clone();
        if let Some(known) = before.and_then(|before| before.read.get()) {
            let index = known.adopting(log, vectors.reference.sequence)?;
            return Ok(Self { read: OnceLock::from(index), ..vectors });
        }
        Ok(vectors)
    }

    /// Wraps vectors that were just written.
    pub fn written(index: VectorIndex) -> Self {
        let set = index.set();
        let path = set.log().path().to_owned();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let reference = VectorLog { file, bytes: set.log().end(), sequence: set.sequence() };
        let (faults, files) = (index.graphs().faults().clone(), index.graphs().files());
        Self {
            reference,
            path,
            faults,
            files,
            log: OnceLock::from(set.log().clone()),
            read: OnceLock::from(index),
        }
    }

    /// Returns the log up to the end of the commit, mapped at the first call.
    ///
    /// # Errors
    /// Internal, naming the file, if it is too short or not a log.
    pub fn log(&self) -> Result<&Log> {
        if let Some(log) = self.log.get() {
            return Ok(log);
        }
        let log = Log::open(&self.path, self.reference.bytes)?;
        Ok(self.log.get_or_init(|| log))
    }

    /// Returns the vectors, read from the log at the first call.
    ///
    /// # Errors
    /// Internal, naming the file, if the log is damaged.
    pub fn index(&self) -> Result<VectorIndex> {
        if let Some(index) = self.read.get() {
            return Ok(index.clone());
        }
        let log = self.log()?.clone();
        let index =
            VectorIndex::new(VectorSet::read(log, self.reference.sequence)?, &self.faults, self.files);
        Ok(self.read.get_or_init(|| index).clone())
    }
}
