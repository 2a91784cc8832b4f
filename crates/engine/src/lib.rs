//! The search engine: documents in, ranked hits out. Knows nothing of Node or HTTP.

pub mod analysis;
pub mod error;
pub mod facets;
pub mod fields;
pub mod filter;
pub mod postings;
pub mod ranking;
pub mod search;
pub mod settings;
pub mod store;

#[cfg(test)]
mod fixture;
