//! Stores the vectors of documents and finds the nearest documents of a vector.
//!
//! The log of an embedder is the source of truth. Graphs, codes and tables are derived from it.

mod bounds;
mod codes;
mod current_vectors;
mod distance;
mod embedder;
mod embedder_vectors;
mod flags;
mod graph;
mod graphs;
mod limits;
mod log;
mod log_update;
mod missing_vectors;
mod nearest;
mod pending_embeddings;
mod readback;
mod recent;
mod reconfiguration;
mod rescue;
mod sent;
mod staged_embedder;
mod staged_vectors;
mod state_after;
mod vector_index;
mod vector_locations;
mod vector_set;
mod vectors;
mod walk;
mod walkable;

pub use current_vectors::{CurrentVectors, CurrentVectorsOf};
pub use distance::similarity;
pub use embedder::{Embedder, embedders_of};
pub use flags::Flags;
pub use graph::Graph;
pub use graphs::{Graphs, Sealed};
pub use missing_vectors::MissingVectors;
pub use nearest::{Nearest, Neighbours, Path};
pub use pending_embeddings::{Asked, VectorPage, Want};
pub use readback::{shown, shown_in};
pub use reconfiguration::{Reconfiguration, Remake};
pub use rescue::rescued;
pub use sent::DocumentVectors;
pub use staged_vectors::{ChangedVectors, Reading, StagedVectors};
pub use vector_index::VectorIndex;
pub use vector_set::VectorSet;
pub use vectors::{DIRECTORY, Vectors};

#[cfg(test)]
mod tests;
