//! Which documents have an attribute of just so many words?

use roaring::RoaringBitmap;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::Postings;
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::DELETED;
use crate::store::schema;

impl Postings {
    /// Documents whose `field` holds exactly `words` stored words. None are known to beyond
    /// [`schema::LENGTH_MAX`].
    pub fn field_length_docs(&self, field: FieldId, words: usize) -> Result<RoaringBitmap> {
        let mut docs = RoaringBitmap::new();
        if words > schema::LENGTH_MAX {
            return Ok(docs);
        }
        let lengths = self.snapshot.schema().lengths;
        let key = schema::term(&words.to_string(), field);
        for segment in self.snapshot.segments() {
            let index = segment.reader.inverted_index(lengths)?;
            let Some(info) = index.terms().get(&key)? else { continue };
            let mut postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
            let mut doc = postings.doc();
            while doc != TERMINATED {
                let docid = segment.docids[doc as usize];
                if docid != DELETED {
                    docs.insert(docid);
                }
                doc = postings.advance();
            }
        }
        Ok(docs)
    }
}
