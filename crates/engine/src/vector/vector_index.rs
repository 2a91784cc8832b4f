//! The vectors of one embedder and the graphs over them: what a search for neighbours needs.

use std::fmt;
use std::sync::Arc;

use super::graphs::Graphs;
use super::vector_set::VectorSet;
use crate::error::Result;

/// The vectors of one embedder, as one commit sees them, and graphs over them. Cheap to clone.
#[derive(Clone)]
pub struct VectorIndex {
    set: Arc<VectorSet>,
    graphs: Arc<Graphs>,
}

impl VectorIndex {
    /// Vectors of a log that no other was rewritten to.
    pub fn new(set: VectorSet) -> Self {
        let graphs = Graphs::of_log(set.log().path());
        Self { set: Arc::new(set), graphs }
    }

    /// The vectors of a later commit, whose log goes on with this one's sequence numbers.
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

    /// Sees to it, on a thread of its own, that graphs are read, built and merged as the vectors need them.
    pub fn tend(&self) {
        self.graphs.tend(&self.set);
    }

    /// Does the same before it returns: for tests and measurements.
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
