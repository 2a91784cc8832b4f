//! Reads the documents of words, attribute by attribute.

use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::postings::SegmentPostings;
use tantivy::schema::IndexRecordOption;

use super::by_field::{ByField, unite};
use super::cache::WordDocuments;
use super::field_docs::FieldDocs;
use super::list_reader::{ALL_DOCS, ListReader};
use super::reader::Postings;
use super::word::{TermList, Word};
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::{DELETED, DocidSet};

impl Postings {
    /// Returns the documents of any of `words`, over the complete index.
    pub fn docs<'w>(&self, words: impl Iterator<Item = &'w Word> + Clone) -> Result<FieldDocs> {
        let all = self.by_field(words.clone().flat_map(|word| &word.lists))?;
        // `FieldDocs` excludes fields without typo tolerance; words without it are excluded here.
        let unforgiving = |word: &&Word| !self.searchable.word_forgives(&word.text);
        let forgiving = if words.clone().any(|word| unforgiving(&word)) {
            Some(self.by_field(words.filter(|word| !unforgiving(word)).flat_map(|word| &word.lists))?)
        } else {
            None
        };
        Ok(FieldDocs::new(all, forgiving))
    }

    /// Returns the documents of a word, over the complete index.
    pub fn word_docs(&self, word: &Word) -> Result<Arc<FieldDocs>> {
        if let Some(docs) = self.cache().get::<WordDocuments>(&*word.text) {
            return Ok(docs);
        }
        let mut all = ByField::new();
        for list in &word.lists {
            if u64::from(list.info.doc_freq) < CACHED_FREQUENCY_MIN {
                unite(&mut all, list.field, &self.union(&[list])?);
            } else {
                let docs = self.segment(list.segment).word_docs(&word.text, list.field, &list.info)?;
                unite(&mut all, list.field, &docs);
            }
        }
        let forgiving = (!self.searchable.word_forgives(&word.text)).then(Vec::new);
        Ok(self.insert::<WordDocuments>(word.text.clone(), FieldDocs::new(all, forgiving)))
    }

    /// Calls `visit` with the documents that hold `word` in each searchable field, and the number of occurrences.
    pub fn visit_counts(&self, word: &Word, mut visit: impl FnMut(u32, FieldId, u32)) -> Result<()> {
        for list in &word.lists {
            let docids = &self.snapshot.segments()[list.segment].docids;
            let mut reader = ListReader::new(&self.indexes[list.segment], &self.budget);
            reader.each_doc_with_count(&list.info, &ALL_DOCS, |doc, count| {
                let docid = docids[doc as usize];
                if docid != DELETED {
                    visit(docid, list.field, count);
                }
            })?;
        }
        Ok(())
    }

    fn by_field<'w>(
        &self,
        lists: impl Iterator<Item = &'w TermList>,
    ) -> Result<Vec<(FieldId, RoaringBitmap)>> {
        let mut lists: Vec<&TermList> = lists.collect();
        lists.sort_by_key(|list| list.field);
        lists
            .chunk_by(|a, b| a.field == b.field)
            .map(|lists| Ok((lists[0].field, self.union(lists)?)))
            .filter(|entry| !matches!(entry, Ok((_, docs)) if docs.is_empty()))
            .collect()
    }

    fn union(&self, lists: &[&TermList]) -> Result<RoaringBitmap> {
        let documents = self.snapshot.documents();
        let mut docs = DocidSet::new(documents.min().unwrap_or(0), documents.max().unwrap_or(0));
        let mut readers: Vec<ListReader> =
            self.indexes.iter().map(|index| ListReader::new(index, &self.budget)).collect();
        for list in lists {
            let docids = &self.snapshot.segments()[list.segment].docids;
            readers[list.segment].each_doc(&list.info, &ALL_DOCS, |doc| {
                let docid = docids[doc as usize];
                if docid != DELETED {
                    docs.add(docid);
                }
            })?;
        }
        Ok(docs.finish())
    }

    pub(super) fn open_list(&self, list: &TermList, option: IndexRecordOption) -> Result<SegmentPostings> {
        Ok(self.indexes[list.segment].read_postings_from_terminfo(&list.info, option)?)
    }
}

/// Lists with fewer documents are not cached by segment: decoding them again is as fast.
const CACHED_FREQUENCY_MIN: u64 = 256;
