//! Finds the documents that contain words, with attributes and positions.
//!
//! [`Postings`] reads the words of one commit. Its methods merge the term dictionaries of all segments
//! ([`Postings::word`], [`Postings::starting_with`], [`Postings::near`]) and decode postings. Where it pays, they
//! decode and cache lists of complete segments (`segment`). Results are docids of live documents in searchable
//! attributes, so they depend neither on merges nor on how documents are distributed over segments.

mod automata;
mod budget;
mod by_distance;
mod by_field;
mod cache;
mod compounds;
mod dictionary;
mod distances;
mod docs;
mod endings;
mod field_docs;
mod field_lengths;
mod forms;
mod frequent;
mod length_codes;
mod lengths;
mod list_reader;
mod misspellings;
mod nearness;
mod occurrence_lists;
mod occurrences;
mod pinyin;
mod position_docs;
mod positions;
mod prefixes;
mod reader;
mod searchable;
mod segment;
mod side;
mod splits;
mod stems;
mod word;

pub use crate::store::buckets::bucketed;
pub use budget::{Budget, OVERDRAFT};
pub use by_distance::{ByDistance, DISTANCE_MAX};
pub use distances::{Distances, Near, PairSide, SideOccurrences};
pub use field_docs::{FieldDocs, Reading};
pub use length_codes::{FieldLengths, LENGTHS};
pub use misspellings::Misspellings;
pub use occurrence_lists::{SKIP_COST, Targets};
pub use occurrences::Occurrences;
pub use pinyin::PinyinLimits;
pub use position_docs::PositionDocs;
pub use reader::Postings;
pub use searchable::Searchable;
pub use side::{Orders, Side};
pub use word::Word;

#[cfg(test)]
mod tests;
