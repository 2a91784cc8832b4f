//! The vectors of an embedder and the graphs over them, for nearest-neighbour searches.

use std::fmt;
use std::sync::Arc;

use super::graphs::{GraphFiles, Graphs, lineage_of};
use super::log::Log;
use super::vector_set::VectorSet;
use crate::background_fault::FaultReporter;
use crate::error::Result;

/// The vectors of an embedder in a commit, and the graphs over them. Cheap to clone.
#[derive(Clone)]
pub struct VectorIndex {
    set: Arc<VectorSet>,
    graphs: Arc<Graphs>,
}

impl VectorIndex {
    /// Creates the vectors of a log of a new lineage. Faults of its graphs are reported to `faults`.
    pub fn new(set: VectorSet, faults: &FaultReporter, files: GraphFiles) -> Self {
        let graphs = Graphs::of_log(set.log().path(), faults, files);
        Self { set: Arc::new(set), graphs }
    }

    /// Returns the vectors of a later commit by another process. If the log has only grown, reads only its new end.
    ///
    /// # Errors
    /// Internal, naming the file, if the log is damaged.
    pub fn adopting(&self, log: Log, sequence: u64) -> Result<Self> {
        let known = &self.set;
        let is_lineage = log.shape() == known.shape()
            && lineage_of(log.path()) == lineage_of(known.log().path())
            && sequence >= known.sequence();
        if !is_lineage {
            let set = VectorSet::read(log, sequence)?;
            return Ok(Self::new(set, self.graphs.faults(), self.graphs.files()));
        }
        self.graphs.reread_files();
        if log.continues(known.log()) && log.end() == known.log().end() {
            return Ok(self.clone());
        }
        let set = if log.continues(known.log()) {
            let mut records = Vec::new();
            log.each(known.log().end(), |record| records.push(record))?;
            known.continued(log, sequence).with(records)
        } else {
            VectorSet::read(log, sequence)?
        };
        Ok(self.followed_by(set))
    }

    /// Returns the vectors of a later commit with a log that continues the sequence numbers of this one.
    pub fn followed_by(&self, set: VectorSet) -> Self {
        Self { set: Arc::new(set), graphs: Arc::clone(&self.graphs) }
    }

    /// Returns the vectors.
    pub fn set(&self) -> &VectorSet {
        &self.set
    }

    /// Returns the graphs over the vectors.
    pub fn graphs(&self) -> &Graphs {
        &self.graphs
    }

    /// Reads, builds and merges the graphs that the vectors need, on a temporary thread.
    pub fn maintain_graphs(&self) {
        self.graphs.maintain_graphs(&self.set);
    }

    /// As [`Self::maintain_graphs`], but on this thread, for tests and measurements.
    ///
    /// # Errors
    /// Internal, if there is not enough memory or disk space.
    pub fn maintain_graphs_now(&self) -> Result<()> {
        self.graphs.maintain_graphs_now(&self.set)
    }
}

impl fmt::Debug for VectorIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.set.fmt(f)
    }
}
