//! Here is a word: which documents hold it, in which attribute, and where?
//!
//! Words come out of the term dictionaries of all segments as one list ([`Postings::word`],
//! [`Postings::starting_with`], [`Postings::near`]); a [`Word`] knows where its postings lie, and the
//! other calls decode them, once for a segment where it is much (`segment`). Answers are docids of live
//! documents and speak of searchable attributes only, so they depend neither on how documents are spread over
//! segments nor on what a merge has removed.

mod automata;
mod budget;
mod by_distance;
mod by_field;
mod cache;
mod dictionary;
mod docs;
mod field_docs;
mod lengths;
mod list_reader;
mod misspellings;
mod nearness;
mod occurrence_lists;
mod occurrences;
mod position_docs;
mod positions;
mod prefixes;
mod reader;
mod searchable;
mod segment;
mod side;
mod splits;
mod word;

pub use crate::store::buckets::bucketed;
pub use budget::{Budget, OVERDRAFT};
pub use by_distance::{ByDistance, DISTANCE_MAX};
pub use field_docs::{FieldDocs, Reading};
pub use misspellings::Misspellings;
pub use nearness::NEAR_DOCUMENTS_MIN;
pub use occurrences::Occurrences;
pub use position_docs::PositionDocs;
pub use reader::Postings;
pub use searchable::Searchable;
pub use side::{Orders, Side};
pub use word::Word;

#[cfg(test)]
mod tests;
