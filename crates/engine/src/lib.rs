//! The search engine: indexes documents and returns ranked hits. Independent of Node and HTTP.

pub mod analysis;
mod background_fault;
pub mod cache;
mod engine;
pub mod error;
pub mod facets;
pub mod fields;
pub mod filter;
mod index;
pub mod indexing;
pub mod postings;
pub mod query;
pub mod ranking;
pub mod search;
pub mod settings;
pub mod store;
mod threads;
pub mod vector;

pub use background_fault::{BackgroundFault, BackgroundFaultKind, FaultReporter};
pub use engine::Engine;
pub use index::{Damage, Index, IndexServices, IndexSizes, IndexStats, Limits, PinnedIndex, Rescued};

#[cfg(test)]
mod fixture;
