//! Here is a document or a vector: which vectors are its, and which documents are near?
//!
//! The log of an embedder is the truth; everything else is made from it.

mod codes;
mod distance;
mod draft;
mod embedder;
mod graph;
mod graphs;
mod lacking;
mod limits;
mod log;
mod nearest;
mod readback;
mod sent;
mod set;
mod table;
mod vectors;
mod walk;
mod work;

pub use distance::similarity;
pub use draft::{Reading, Reconfiguration, Remake, Staged, Standing, StandingOf, VectorDraft};
pub use embedder::{Embedder, embedders_of};
pub use graph::Graph;
pub use graphs::{Graphs, Sealed};
pub use lacking::Lacking;
pub use nearest::{Nearest, Neighbours, Path};
pub use readback::shown;
pub use sent::DocumentVectors;
pub use set::{Flags, VectorSet};
pub use vectors::{DIRECTORY, Vectors};
pub use work::{Asked, VectorPage, Want};

#[cfg(test)]
mod tests;
