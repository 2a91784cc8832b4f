//! Evaluates filters.
//!
//! A filter arrives as JSON: an expression, or an array in which every element must hold. An element is an expression,
//! or an array of expressions of which at least one must hold.

mod element_test;
mod elements;
mod evaluate;
mod expression;
mod foreign;
mod foreign_indexes;
mod limits;
mod request;
mod rules;
mod scope;

pub use evaluate::select;
pub use expression::{Expression, parse};
pub use foreign::readable;
pub use foreign_indexes::{Access, ForeignIndexes, ForeignKey, Indexes};
pub use request::{check, passing};
pub use rules::{describe_facet_searchable, describe_filterable, features_of, is_geo_filterable, uses_geo};
pub use scope::{Features, Foreign, Scope};

#[cfg(test)]
mod tests;
