//! The vectors of one embedder as a commit refers to them, read when first needed.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::graphs::GraphFiles;
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
    files: GraphFiles,
    /// The log, mapped when first needed. It stays readable from then on, even once a compaction has removed its file.
    log: OnceLock<Log>,
    pub(super) read: OnceLock<VectorIndex>,
}

impl EmbedderVectors {
    /// Vectors that a commit refers to, unread.
    pub fn unread(path: PathBuf, reference: VectorLog, faults: FaultReporter, files: GraphFiles) -> Self {
        Self { reference, path, faults, files, log: OnceLock::new(), read: OnceLock::new() }
    }

    /// Vectors that a commit of another process refers to, read if those of the commit before are.
    ///
    /// # Errors
    /// Internal, naming the file, if the log is shorter, no log or damaged.
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

    /// Vectors that were just written.
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

    /// The log up to the end of the commit, mapped when first asked for.
    ///
    /// # Errors
    /// Internal, naming the file, if it is shorter or no log.
    pub fn log(&self) -> Result<&Log> {
        if let Some(log) = self.log.get() {
            return Ok(log);
        }
        let log = Log::open(&self.path, self.reference.bytes)?;
        Ok(self.log.get_or_init(|| log))
    }

    /// The vectors, read from the log when first asked for.
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
