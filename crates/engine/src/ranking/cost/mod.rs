//! Implements rules that charge documents for reading the query and prefer low costs.
//!
//! Most ranking rules are of this kind. Each is a [`CostRule`] in `ranking/rules`. [`CostBuckets`] turns its costs into
//! buckets.

mod buckets;
mod groups;
mod levels;
mod rule;
mod sink;
mod solver;
mod table;

pub(in crate::ranking) use buckets::CostBuckets;
pub(in crate::ranking) use rule::{CostRule, Removal, Step};
pub(in crate::ranking) use sink::CostSink;
