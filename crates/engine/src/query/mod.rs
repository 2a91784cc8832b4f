//! Reads a query: its readings, and the documents that match each step.
//!
//! 1. `parse` splits the query into terms.
//! 2. `derivations` finds the words of the index that may stand for a word: misspellings (`typos`), prefixes, splits
//!    and `synonyms`. A `term` holds them.
//! 3. `graph` holds the readings of the query: a node is a term or neighbouring terms joined.
//! 4. `resolver` finds the documents and occurrences of a node, `node_side` the distances between two nodes.
//!
//! `highlight_terms` lists the words to mark in a hit, `spellings` the derivations that an explanation lists.

mod cache;
mod derivations;
mod graph;
mod highlight_terms;
mod limits;
mod node_side;
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
pub(crate) use limits::{ANY_TERMS_MAX, TERMS_MAX};
#[cfg(test)]
pub(crate) use parse::TermText;
pub(crate) use parse::{ParsedQuery, Slots};
pub(crate) use resolver::{Slot, TermResolver};
pub(crate) use search_on::{SEARCH_ON_CODE, fields as searched_fields};
pub(crate) use spellings::Spelling;
pub(crate) use term::{DerivationKey, DerivationKinds, Term};
