//! Here is a filter: which documents does it select?
//!
//! A filter arrives as JSON: an expression, or an array of which every element must hold. An element is an expression,
//! or an array of expressions of which one must hold.

mod element_test;
mod elements;
mod evaluate;
mod expression;
mod limits;
mod rules;
mod scope;

pub use evaluate::{passing, select};
pub use expression::{Expression, check, parse};
pub use rules::{describe_filterable, features_of, is_geo_filterable};
pub use scope::{Features, Scope};

#[cfg(test)]
mod tests;
