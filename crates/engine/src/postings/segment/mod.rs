//! Finds the documents of a segment with a word, or with any word of a prefix, and the positions.
//!
//! Results cover all fields, searchable or not, and are cached with the segment across commits. Documents deleted after
//! a value was computed are masked. A reader of an older commit computes a value again if it lacks documents of that
//! commit.

mod cache;
mod docs;
mod endings;
mod lengths;
mod lists;
mod nearness;
mod occurrences;
mod positions;
mod positions_by_doc;
mod prefix_docs;
mod reader;
mod short_prefixes;
mod stems;

pub(super) use lists::SHARED_POSITIONS_MIN;
pub(super) use prefix_docs::PrefixDocs;
pub(super) use reader::Segment;
