//! Lengths of attributes in stored words, for the ranking rule `relevance`. Derived from the postings lists.

use std::sync::Arc;

use super::by_field::ByFieldBuilder;
use super::cache::LengthsByField;
use super::length_codes::{CodesBuilder, FieldLengths};
use super::reader::Postings;
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::DELETED;

impl Postings {
    /// Returns the lengths of all fields that live documents have, by ascending field. Computed once per commit, from
    /// lengths that are computed once per segment.
    pub fn lengths(&self) -> Result<Arc<Vec<(FieldId, FieldLengths)>>> {
        if let Some(known) = self.cache().get::<LengthsByField>(&()) {
            return Ok(known);
        }
        let documents = self.snapshot.documents().max().map_or(0, |last| last as usize + 1);
        let mut fields: ByFieldBuilder<CodesBuilder> = ByFieldBuilder::default();
        for (at, segment) in self.segments().enumerate() {
            let docids = &self.snapshot.segments()[at].docids;
            let lengths = segment.lengths()?;
            for (field, codes) in &lengths.value {
                let of_field = fields.of(*field, || CodesBuilder::new(documents));
                codes.each(|doc, code| {
                    let docid = docids[doc as usize];
                    if docid != DELETED {
                        of_field.set(docid, code);
                    }
                });
            }
        }
        let found = fields.finish(|codes| FieldLengths::new(codes.finish()));
        Ok(self.insert::<LengthsByField>((), found))
    }
}
