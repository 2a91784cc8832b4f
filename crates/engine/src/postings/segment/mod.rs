//! Here is a segment: which documents hold a word of it, or any word with one beginning, and where?
//!
//! Answers speak of all fields, searchable or not, and are kept with the segment from commit to commit. A
//! document deleted since they were worked out is masked; an older reader than they were made for, who would
//! miss it, works them out for itself.

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
