//! Counts the words of each field of the documents of a segment.

use std::sync::Arc;

use super::cache::{Cached, SegmentLengths};
use super::reader::Segment;
use crate::error::Result;
use crate::postings::by_field::{ByField, ByFieldBuilder};
use crate::postings::length_codes::{Codes, WordCounts};
use crate::postings::list_reader::ALL_DOCS;

impl Segment<'_> {
    /// Returns the lengths of all fields by segment docid, deleted documents included.
    pub(crate) fn lengths(&self) -> Result<Arc<Cached<ByField<Codes>>>> {
        self.cached::<SegmentLengths, _>(
            &(),
            || (),
            || {
                let documents = self.view.reader.max_doc() as usize;
                let mut fields: ByFieldBuilder<WordCounts> = ByFieldBuilder::default();
                let mut reader = self.reader();
                self.each_term("", |_, field, info| {
                    let counts = fields.of(field, || WordCounts::new(documents));
                    reader.each_doc_with_count(info, &ALL_DOCS, |doc, count| counts.add(doc, count))
                })?;
                Ok(fields.finish(WordCounts::finish))
            },
        )
    }
}
