//! Which documents hold any of these words, attribute by attribute.

use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::postings::SegmentPostings;
use tantivy::schema::IndexRecordOption;

use super::dictionary::{List, Word};
use super::list_reader::{ListReader, WHOLE};
use super::segment::{ByField, unite};
use super::{Postings, Searchable};
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::{DELETED, DocidSet};

/// Documents of a set of words.
#[derive(Debug, Default, Clone)]
pub struct FieldDocs {
    /// By ascending field: documents that hold any of the words there.
    all: Vec<(FieldId, RoaringBitmap)>,
    /// The same, without what forgives no typo. None if it leaves out whole fields and nothing else.
    forgiving: Option<Vec<(FieldId, RoaringBitmap)>>,
}

/// How a query looks at an attribute.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading<'a> {
    /// Only where a typo would be forgiven: what misspelt words and joined words may match.
    pub forgiving: bool,
    /// Only in these fields (ascending); None: in every searchable one.
    pub within: Option<&'a [FieldId]>,
}

impl Reading<'_> {
    fn admits(&self, field: FieldId) -> bool {
        self.within.is_none_or(|fields| fields.binary_search(&field).is_ok())
    }
}

impl FieldDocs {
    /// By ascending field, fields without documents left out.
    pub(super) fn new(
        mut all: Vec<(FieldId, RoaringBitmap)>,
        forgiving: Option<Vec<(FieldId, RoaringBitmap)>>,
    ) -> Self {
        all.retain(|(_, docs)| !docs.is_empty());
        Self { all, forgiving }
    }

    /// Documents that match under `reading`.
    pub fn matching(&self, reading: Reading, searchable: &Searchable) -> RoaringBitmap {
        self.admitted(reading, searchable).fold(RoaringBitmap::new(), |docs, more| docs | more)
    }

    /// Those of `universe` that match under `reading`.
    pub fn matching_in(
        &self,
        universe: &RoaringBitmap,
        reading: Reading,
        searchable: &Searchable,
    ) -> RoaringBitmap {
        let admitted = self.admitted(reading, searchable);
        admitted.fold(RoaringBitmap::new(), |docs, more| docs | (more & universe))
    }

    fn admitted(&self, reading: Reading, searchable: &Searchable) -> impl Iterator<Item = &RoaringBitmap> {
        let fields = match (&self.forgiving, reading.forgiving) {
            (Some(forgiving), true) => forgiving,
            _ => &self.all,
        };
        let admitted = fields.iter().filter(move |(field, _)| {
            reading.admits(*field) && (!reading.forgiving || searchable.field_forgives(*field))
        });
        admitted.map(|(_, docs)| docs)
    }

    /// Fields that hold the words, ascending, with their documents. Forgiving or not is the same here.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, &RoaringBitmap)> {
        self.all.iter().map(|(field, docs)| (*field, docs))
    }

    /// Documents that hold the words in `field`.
    pub fn in_field(&self, field: FieldId) -> Option<&RoaringBitmap> {
        let at = self.all.binary_search_by_key(&field, |(field, _)| *field).ok()?;
        Some(&self.all[at].1)
    }

    /// About how much memory this takes.
    pub fn bytes(&self) -> usize {
        let bytes = |fields: &[(FieldId, RoaringBitmap)]| -> usize {
            fields
                .iter()
                .map(|(_, docs)| docs.serialized_size() + size_of::<(FieldId, RoaringBitmap)>())
                .sum()
        };
        bytes(&self.all) + self.forgiving.as_deref().map_or(0, bytes)
    }
}

impl Postings {
    /// Documents of any of `words`, over the whole index.
    pub fn docs<'w>(&self, words: impl Iterator<Item = &'w Word> + Clone) -> Result<FieldDocs> {
        let all = self.by_field(words.clone().flat_map(|word| &word.lists))?;
        // Callers leave out fields that never forgive typos; words that forgive none are left out here.
        let unforgiving = |word: &&Word| !self.searchable.word_forgives(&word.text);
        let forgiving = if words.clone().any(|word| unforgiving(&word)) {
            Some(self.by_field(words.filter(|word| !unforgiving(word)).flat_map(|word| &word.lists))?)
        } else {
            None
        };
        Ok(FieldDocs { all, forgiving })
    }

    /// Documents of one word, over the whole index.
    pub fn word_docs(&self, word: &Word) -> Result<Arc<FieldDocs>> {
        if let Some(docs) = self.cache.words.get(&word.text) {
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
        let docs = Arc::new(FieldDocs::new(all, forgiving));
        self.keep(&self.cache.words, word.text.clone(), Arc::clone(&docs), docs.bytes());
        Ok(docs)
    }

    fn by_field<'w>(&self, lists: impl Iterator<Item = &'w List>) -> Result<Vec<(FieldId, RoaringBitmap)>> {
        let mut lists: Vec<&List> = lists.collect();
        lists.sort_by_key(|list| list.field);
        lists
            .chunk_by(|a, b| a.field == b.field)
            .map(|lists| Ok((lists[0].field, self.union(lists)?)))
            .filter(|entry| !matches!(entry, Ok((_, docs)) if docs.is_empty()))
            .collect()
    }

    fn union(&self, lists: &[&List]) -> Result<RoaringBitmap> {
        let documents = self.snapshot.documents();
        let mut docs = DocidSet::new(documents.min().unwrap_or(0), documents.max().unwrap_or(0));
        let mut readers: Vec<ListReader> =
            self.indexes.iter().map(|index| ListReader::new(index, &self.budget)).collect();
        for list in lists {
            let docids = &self.snapshot.segments()[list.segment].docids;
            readers[list.segment].each_doc(&list.info, &WHOLE, |doc| {
                let docid = docids[doc as usize];
                if docid != DELETED {
                    docs.add(docid);
                }
            })?;
        }
        Ok(docs.finish())
    }

    pub(super) fn open_list(&self, list: &List, option: IndexRecordOption) -> Result<SegmentPostings> {
        Ok(self.indexes[list.segment].read_postings_from_terminfo(&list.info, option)?)
    }
}

/// Lists of fewer documents are not kept by segments: decoding them anew is as quick.
const CACHED_FREQUENCY_MIN: u64 = 256;
