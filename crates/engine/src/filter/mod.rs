//! Here is a filter, give me the documents that it selects.
//!
//! A filter arrives as JSON: an expression, or an array of expressions that must all hold, some of which
//! may be arrays of expressions one of which must hold.

mod evaluate;
mod expression;
mod rules;
mod scope;

pub use evaluate::{passing, select};
pub use expression::{Expression, check, parse};
pub use rules::{Filterable, describe_filterable, features_of, is_filterable_place};
pub use scope::{Features, Scope};

#[cfg(test)]
mod tests;
