//! Finds the documents of a segment with a word, with any word of a prefix, or with a number of words.

use roaring::RoaringBitmap;
use tantivy::postings::TermInfo;
use tantivy::schema::Field;

use super::cache::{Docs, DocumentsOf, SegmentDocuments, SegmentPrefixes};
use super::lists::SHARED_POSTINGS_MIN;
use super::prefix_docs::{PrefixDocs, WordsAndNumbers};
use super::reader::Segment;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::by_field::{ByField, ByFieldBuilder, unite};
use crate::postings::list_reader::{ALL_DOCS, ListReader};
use crate::postings::side::Side;
use crate::store::{DocidSet, schema};

impl Segment<'_> {
    /// Returns the live documents of the postings list of `text` in `field`.
    pub(crate) fn word_docs(&self, text: &str, field: FieldId, info: &TermInfo) -> Result<Docs> {
        let of = DocumentsOf::Word(text, field);
        let cached = self.cached::<SegmentDocuments, _>(
            &of,
            || of.to_owned(),
            || {
                let mut docs = self.view.docid_set();
                self.each_docid(&mut self.reader(), info, &ALL_DOCS, |docid| docs.add(docid))?;
                Ok(docs.finish())
            },
        )?;
        Ok(self.masked(cached))
    }

    /// Returns the live documents with exactly `words` stored words in `field`.
    pub(crate) fn length_docs(&self, lengths: Field, field: FieldId, words: usize) -> Result<Docs> {
        let of = DocumentsOf::Length(words, field);
        let cached = self.cached::<SegmentDocuments, _>(
            &of,
            || of.to_owned(),
            || {
                let index = self.view.reader.inverted_index(lengths)?;
                let mut docs = self.view.docid_set();
                if let Some(info) = index.terms().get(schema::term(&words.to_string(), field))? {
                    let mut reader = ListReader::new(&index, self.budget);
                    self.each_docid(&mut reader, &info, &ALL_DOCS, |docid| docs.add(docid))?;
                }
                Ok(docs.finish())
            },
        )?;
        Ok(self.masked(cached))
    }

    /// Returns the live documents of all words with the prefix `prefix`, by field.
    pub(crate) fn prefix_docs(&self, prefix: &str) -> Result<PrefixDocs> {
        let cached = self.cached::<SegmentPrefixes, _>(
            prefix,
            || prefix.into(),
            || {
                let parts = match self.short_prefix(prefix) {
                    Some(short) => vec![self.short_prefix_docs(short)?],
                    None => self.listed_docs(&Side::Prefix(prefix.into()))?,
                };
                let (mut all, mut words, mut numbers) = (ByField::new(), ByField::new(), ByField::new());
                for [some_words, some_numbers] in &parts {
                    some_words.iter().for_each(|(field, docs)| unite(&mut words, *field, docs));
                    some_numbers.iter().for_each(|(field, docs)| unite(&mut numbers, *field, docs));
                }
                if numbers.is_empty() {
                    return Ok(PrefixDocs { all: words, without_numbers: None });
                }
                all.clone_from(&words);
                numbers.iter().for_each(|(field, docs)| unite(&mut all, *field, docs));
                Ok(PrefixDocs { all, without_numbers: Some(words) })
            },
        )?;
        let fields = |fields: &ByField<RoaringBitmap>| -> ByField<RoaringBitmap> {
            fields
                .iter()
                .map(|(field, docs)| (*field, self.mask(cached.deleted, docs).into_owned()))
                .collect()
        };
        let PrefixDocs { all, without_numbers } = &cached.value;
        Ok(PrefixDocs { all: fields(all), without_numbers: without_numbers.as_ref().map(fields) })
    }

    /// Reads the documents of the words of a side by field, numbers separately from other words. Returns one entry per
    /// thread.
    fn listed_docs(&self, side: &Side) -> Result<Vec<WordsAndNumbers>> {
        self.read_lists(&self.lists(side)?, SHARED_POSTINGS_MIN, |lists| {
            let (mut words, mut numbers) = (ByFieldBuilder::default(), ByFieldBuilder::default());
            let mut reader = self.reader();
            for list in lists {
                let sets = if list.is_numeric { &mut numbers } else { &mut words };
                let set = sets.of(list.field, || self.view.docid_set());
                self.each_docid(&mut reader, &list.info, &list.within, |docid| set.add(docid))?;
            }
            Ok([words.finish(DocidSet::finish), numbers.finish(DocidSet::finish)])
        })
    }
}
