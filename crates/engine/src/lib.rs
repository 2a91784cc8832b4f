//! The search engine: documents in, ranked hits out. Knows nothing of Node or HTTP.

pub mod analysis;
pub mod error;
pub mod fields;
pub mod postings;
pub mod settings;
pub mod store;
