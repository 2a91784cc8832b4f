//! Here is a query: in which ways can it be read, and what in the index does each step of reading match?
//!
//! 1. `parse` takes the query apart into terms.
//! 2. `derivations` finds what in the index may stand for a word: spellings (`typos`), prefixes, splits and
//!    `synonyms`; a `term` holds them.
//! 3. `graph` lays out the ways of reading the query: a node is a term or neighbouring terms joined.
//! 4. `resolver` tells the documents and occurrences of a node.
//!
//! `highlight_terms` is what of all this is marked in a hit, `spellings` what of it an explanation lists.

mod cache;
mod derivations;
mod graph;
mod highlight_terms;
mod limits;
mod parse;
mod resolver;
mod search_on;
mod spellings;
mod synonyms;
mod term;
mod typos;

pub(crate) use derivations::Derivations;
pub(crate) use graph::{NodeId, QueryGraph, TermNode};
pub use highlight_terms::{HighlightTerm, HighlightTerms, MatchKind};
pub use limits::QUERY_BYTES_MAX;
pub(crate) use parse::ParsedQuery;
#[cfg(test)]
pub(crate) use parse::TermText;
pub(crate) use resolver::{Slot, TermResolver};
pub(crate) use search_on::fields as searched_fields;
pub(crate) use spellings::Spelling;
pub(crate) use term::{DerivationKinds, Term};
