//! The vectors of one embedder and the graphs over them, which a search for neighbours needs.

use std::fmt;
use std::sync::Arc;

use super::graphs::Graphs;
use super::vector_set::VectorSet;
use crate::background_fault::FaultReporter;
use crate::error::Result;

/// The vectors of one embedder, as one commit sees them, and graphs over them. Cheap to clone.
#[derive(Clone)]
pub struct VectorIndex {
    set: Arc<VectorSet>,
    graphs: Arc<Graphs>,
}

impl VectorIndex {
    /// Vectors of a log of a new lineage. Faults of its graphs are reported to `faults`.
    pub fn new(set: VectorSet, faults: &FaultReporter) -> Self {
        let graphs = Graphs::of_log(set.log().path(), faults);
        Self { set: Arc::new(set), graphs }
    }

    /// The vectors of a later commit, whose log continues the sequence numbers of this one.
    pub fn followed_by(&self, set: VectorSet) -> Self {
        Self { set: Arc::new(set), graphs: Arc::clone(&self.graphs) }
    }

    /// The vectors.
    pub fn set(&self) -> &VectorSet {
        &self.set
    }

    /// Caches over the vectors.
    pub fn graphs(&self) -> &Graphs {
        &self.graphs
    }

    /// Reads, builds and merges the graphs that the vectors need, on a thread of its own.
    pub fn tend(&self) {
        self.graphs.tend(&self.set);
    }

    /// As [`Self::tend`], on this thread: for tests and measurements.
    ///
    /// # Errors
    /// Internal, if memory or disk space does not suffice.
    pub fn tend_now(&self) -> Result<()> {
        self.graphs.tend_now(&self.set)
    }
}

impl fmt::Debug for VectorIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.set.fmt(f)
    }
}
