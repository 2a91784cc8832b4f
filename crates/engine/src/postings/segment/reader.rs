//! The words of one segment, opened for one search, and what is kept of them.

use std::borrow::Cow;
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::directory::FileSlice;
use tantivy::postings::TermInfo;
use tantivy::{DocId, InvertedIndexReader};

use super::cache::{Cached, Docs, SegmentCache};
use super::lists::{ListRange, frequency, share_out};
use crate::error::Result;
use crate::fields::FieldId;
use crate::generation_cache::GenerationCache;
use crate::postings::budget::Budget;
use crate::postings::list_reader::{ListReader, WHOLE};
use crate::postings::side::Side;
use crate::store::schema::{is_numeric, parse_term};
use crate::store::{DELETED, SegmentView};
use crate::threads::{self, in_parallel};

/// Memory for what is kept of a segment, per generation of each kind: so much, and so much for a document.
const BYTES_MAX: usize = 6 << 20;
/// See [`BYTES_MAX`].
const BYTES_PER_DOCUMENT: usize = 8;

/// A segment and what is known of it.
pub(crate) struct Segment<'a> {
    pub(super) view: &'a SegmentView,
    pub(super) index: &'a InvertedIndexReader,
    pub(super) positions: &'a FileSlice,
    pub(super) cache: Arc<SegmentCache>,
    pub(super) deleted: u32,
    pub(super) budget: &'a Budget,
    /// That share what is to be read.
    pub(super) threads: usize,
}

impl<'a> Segment<'a> {
    /// `index` and `positions`: the field `text` of the segment.
    pub(crate) fn new(
        view: &'a SegmentView,
        index: &'a InvertedIndexReader,
        positions: &'a FileSlice,
        budget: &'a Budget,
    ) -> Self {
        let deleted = view.reader.max_doc() - view.live.len() as u32;
        Self {
            view,
            index,
            positions,
            cache: view.attachments().get(),
            deleted,
            budget,
            threads: threads::for_a_search(),
        }
    }

    /// For a thread that shares work by whole segments.
    pub(crate) fn on_one_thread(self) -> Self {
        Self { threads: 1, ..self }
    }

    /// Postings lists of a side by field.
    pub(super) fn lists(&self, side: &Side) -> Result<Vec<ListRange>> {
        let mut lists = Vec::new();
        let mut take = |word: &str, field, info: &TermInfo| {
            lists.push(ListRange { field, is_numeric: is_numeric(word), info: info.clone(), within: WHOLE });
            Ok(())
        };
        match side {
            Side::Prefix(prefix) => self.each_term(prefix, &mut take)?,
            Side::Word(text) => {
                let (low, high) = ([text.as_bytes(), &[0]].concat(), [text.as_bytes(), &[1]].concat());
                self.each_term_between(&low, &high, &mut take)?;
            }
        }
        lists.sort_by_key(|list| list.field);
        Ok(lists)
    }

    /// Has `read` read the lists, in several parts at once if they have `shared_from` postings.
    pub(super) fn read_lists<T: Send>(
        &self,
        lists: &[ListRange],
        shared_from: u64,
        read: impl Fn(&[ListRange]) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let threads = if frequency(lists) < shared_from { 1 } else { self.threads };
        if threads == 1 {
            return Ok(vec![read(lists)?]);
        }
        in_parallel(&share_out(lists, threads, self.view.reader.max_doc()), |lists| read(lists))
            .into_iter()
            .collect()
    }

    /// Visits all words that begin with `prefix`, attribute by attribute.
    pub(crate) fn each_term(
        &self,
        prefix: &str,
        take: impl FnMut(&str, FieldId, &TermInfo) -> Result<()>,
    ) -> Result<()> {
        // No text has a byte 0xff, so this is above all that begin with the prefix.
        let high = [prefix.as_bytes(), &[0xff]].concat();
        self.each_term_between(prefix.as_bytes(), &high, take)
    }

    fn each_term_between(
        &self,
        low: &[u8],
        high: &[u8],
        mut take: impl FnMut(&str, FieldId, &TermInfo) -> Result<()>,
    ) -> Result<()> {
        let mut terms = self.index.terms().range().ge(low).lt(high).into_stream()?;
        while terms.advance() && !self.budget.stops() {
            if let Some((word, field)) = parse_term(terms.key()) {
                take(word, field, terms.value())?;
            }
        }
        Ok(())
    }

    pub(super) fn reader(&self) -> ListReader<'a> {
        ListReader::new(self.index, self.budget)
    }

    /// Visits live documents of a list.
    pub(super) fn each_docid(
        &self,
        reader: &mut ListReader,
        info: &TermInfo,
        within: &Range<DocId>,
        mut take: impl FnMut(u32),
    ) -> Result<()> {
        reader.each_doc(info, within, |doc| {
            let docid = self.view.docids[doc as usize];
            if docid != DELETED {
                take(docid);
            }
        })
    }

    pub(super) fn each_docid_with_positions(
        &self,
        reader: &mut ListReader,
        list: &ListRange,
        mut take: impl FnMut(u32, &[u32]),
    ) -> Result<()> {
        let docids = &*self.view.docids;
        let is_live = |doc: DocId| docids[doc as usize] != DELETED;
        reader.each_doc_with_positions(&list.info, &list.within, self.positions, is_live, |doc, positions| {
            take(docids[doc as usize], positions);
        })
    }

    pub(super) fn mask<'d>(&self, deleted: u32, docs: &'d RoaringBitmap) -> Cow<'d, RoaringBitmap> {
        if deleted == self.deleted { Cow::Borrowed(docs) } else { Cow::Owned(docs & &*self.view.live) }
    }

    pub(super) fn masked(&self, cached: Arc<Cached<RoaringBitmap>>) -> Docs {
        if cached.deleted == self.deleted {
            Docs::Cached(cached)
        } else {
            Docs::Masked(&cached.value & &*self.view.live)
        }
    }

    pub(super) fn cached<K: Hash + Eq, T>(
        &self,
        cache: &GenerationCache<K, Cached<T>>,
        key: K,
        bytes: fn(&T) -> usize,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<Cached<T>>> {
        let known = cache.get(&key);
        let by_newer = known.as_ref().is_some_and(|known| known.deleted > self.deleted);
        if let Some(known) = known.filter(|known| known.deleted <= self.deleted) {
            return Ok(known);
        }
        let made = Arc::new(Cached { deleted: self.deleted, value: make()? });
        // A list that was cut short answers no other search, so it is not cached.
        if !by_newer && !self.budget.is_overdrawn() {
            let bytes_max = BYTES_MAX + self.view.reader.max_doc() as usize * BYTES_PER_DOCUMENT;
            cache.insert(key, Arc::clone(&made), bytes(&made.value), bytes_max);
        }
        Ok(made)
    }
}
