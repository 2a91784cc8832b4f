//! Finds documents by the number of words in an attribute.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::cache::LengthDocuments;
use super::reader::Postings;
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::schema;

impl Postings {
    /// Returns the documents with exactly `words` stored words in `field`. Empty above [`schema::LENGTH_MAX`], because
    /// the index does not count further.
    pub fn field_length_docs(&self, field: FieldId, words: usize) -> Result<Arc<RoaringBitmap>> {
        if words > schema::LENGTH_MAX {
            return Ok(Arc::default());
        }
        if let Some(known) = self.cache().get::<LengthDocuments>(&(field, words)) {
            return Ok(known);
        }
        let lengths = self.snapshot.schema().lengths;
        let mut docs = RoaringBitmap::new();
        for segment in self.segments() {
            docs |= &*segment.length_docs(lengths, field, words)?;
        }
        Ok(self.insert::<LengthDocuments>((field, words), docs))
    }
}
