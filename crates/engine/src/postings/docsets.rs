//! Which documents hold any of these words, attribute by attribute.

use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::postings::SegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::dictionary::{List, Word};
use super::{Postings, Searchable};
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::DELETED;

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
    /// Documents that match under `reading`.
    pub fn matching(&self, reading: Reading, searchable: &Searchable) -> RoaringBitmap {
        let fields = match (&self.forgiving, reading.forgiving) {
            (Some(forgiving), true) => forgiving,
            _ => &self.all,
        };
        let admitted = fields.iter().filter(|(field, _)| {
            reading.admits(*field) && (!reading.forgiving || searchable.field_forgives(*field))
        });
        admitted.fold(RoaringBitmap::new(), |docs, (_, more)| docs | more)
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
    pub(super) fn bytes(&self) -> usize {
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
        // Fields that never forgive are left out by whoever asks; words that do not are left out here.
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
        if word.frequency_bound() < CACHED_FREQUENCY_MIN {
            return self.docs([word].into_iter()).map(Arc::new);
        }
        if let Some(docs) = self.cache.words.get(&word.text, FieldDocs::bytes) {
            return Ok(docs);
        }
        let docs = Arc::new(self.docs([word].into_iter())?);
        self.cache.words.insert(word.text.clone(), Arc::clone(&docs), docs.bytes());
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
        let postings: u64 = lists.iter().map(|list| u64::from(list.info.doc_freq)).sum();
        let docid_max = self.snapshot.documents().max().unwrap_or(0);
        if postings * SPARSE_RATIO < u64::from(docid_max) {
            let mut docids = Vec::with_capacity(usize::try_from(postings).unwrap_or(0));
            self.each_docid(lists, |docid| docids.push(docid))?;
            docids.sort_unstable();
            docids.dedup();
            return Ok(from_ascending(docids.into_iter()));
        }
        let mut bits = vec![0u64; docid_max as usize / 64 + 1];
        self.each_docid(lists, |docid| bits[docid as usize / 64] |= 1 << (docid % 64))?;
        Ok(from_marks(&bits))
    }

    fn each_docid(&self, lists: &[&List], mut take: impl FnMut(u32)) -> Result<()> {
        for list in lists {
            let docids = &self.snapshot.segments()[list.segment].docids;
            let mut postings = self.open_list(list, IndexRecordOption::Basic)?;
            let mut doc = postings.doc();
            while doc != TERMINATED {
                let docid = docids[doc as usize];
                if docid != DELETED {
                    take(docid);
                }
                doc = postings.advance();
            }
        }
        Ok(())
    }

    pub(super) fn open_list(&self, list: &List, option: IndexRecordOption) -> Result<SegmentPostings> {
        Ok(self.indexes[list.segment].read_postings_from_terminfo(&list.info, option)?)
    }
}

/// Rarer words are decoded again each time.
const CACHED_FREQUENCY_MIN: u64 = 256;

/// Below one posting per so many docids, sorting is cheaper than marking bits.
const SPARSE_RATIO: u64 = 64;

/// One bit per docid.
pub(super) fn from_marks(marks: &[u64]) -> RoaringBitmap {
    let bytes: Vec<u8> = marks.iter().flat_map(|word| word.to_le_bytes()).collect();
    RoaringBitmap::from_lsb0_bytes(0, &bytes)
}

fn from_ascending(docids: impl Iterator<Item = u32>) -> RoaringBitmap {
    RoaringBitmap::from_sorted_iter(docids).expect("docids come in ascending order, each once")
}
