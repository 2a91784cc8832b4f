//! Which documents have an attribute of exactly so many words?

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::cache::FieldLengths;
use super::reader::Postings;
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::schema;

impl Postings {
    /// Documents whose `field` holds exactly `words` stored words. The index does not count beyond
    /// [`schema::LENGTH_MAX`], so above it the set is empty.
    pub fn field_length_docs(&self, field: FieldId, words: usize) -> Result<Arc<RoaringBitmap>> {
        if words > schema::LENGTH_MAX {
            return Ok(Arc::default());
        }
        if let Some(known) = self.cache().get::<FieldLengths>(&(field, words)) {
            return Ok(known);
        }
        let lengths = self.snapshot.schema().lengths;
        let mut docs = RoaringBitmap::new();
        for segment in self.segments() {
            docs |= &*segment.length_docs(lengths, field, words)?;
        }
        Ok(self.insert::<FieldLengths>((field, words), docs))
    }
}
