//! Here is a segment: which documents hold a word, or any word with a prefix, and where?
//!
//! Answers cover all fields, searchable or not, and are cached with the segment across commits. Documents
//! deleted after a value was computed are masked; a reader of an older commit, for which the value lacks
//! documents, computes it again.

mod cache;
mod docs;
mod first_letters;
mod lists;
mod nearness;
mod occurrences;
mod positions;
mod positions_by_doc;
mod prefix_docs;
mod reader;

pub(super) use lists::SHARED_POSITIONS_MIN;
pub(super) use prefix_docs::PrefixDocs;
pub(super) use reader::Segment;
