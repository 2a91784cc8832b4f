//! Scores documents by how well and how often they match the words of a query.

mod derivations;
mod formula;
mod frequencies;
mod lists;
mod nearness;
mod scores;
mod sums;
mod weights;

pub(super) use formula::{NEARNESS_DOCUMENTS_MAX, rank};
pub(super) use scores::Scores;
