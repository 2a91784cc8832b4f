//! The words of a segment, opened for one search, with the cached values of the segment.

use std::borrow::Cow;
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use equivalent::Equivalent;
use roaring::RoaringBitmap;
use tantivy::directory::FileSlice;
use tantivy::postings::TermInfo;
use tantivy::{DocId, InvertedIndexReader};

use super::cache::{Cached, Docs};
use super::lists::{ListRange, frequency, share_out};
use crate::cache::CachedKind;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::budget::Budget;
use crate::postings::list_reader::{ALL_DOCS, ListReader};
use crate::postings::side::Side;
use crate::store::schema::{is_numeric, parse_term};
use crate::store::{DELETED, SegmentView};
use crate::threads::{self, in_parallel};

/// Reads the words of a segment and caches expensive results.
pub(crate) struct Segment<'a> {
    pub(super) view: &'a SegmentView,
    pub(super) index: &'a InvertedIndexReader,
    pub(super) positions: &'a FileSlice,
    pub(super) deleted: u32,
    pub(super) budget: &'a Budget,
    /// Number of threads that share the reading of lists.
    pub(super) threads: usize,
}

impl<'a> Segment<'a> {
    /// `index` and `positions` belong to the field `text` of the segment.
    pub(crate) fn new(
        view: &'a SegmentView,
        index: &'a InvertedIndexReader,
        positions: &'a FileSlice,
        budget: &'a Budget,
    ) -> Self {
        let deleted = view.reader.max_doc() - view.live.len() as u32;
        Self { view, index, positions, deleted, budget, threads: threads::for_a_search() }
    }

    /// Uses no further threads, for callers that read several segments in parallel.
    pub(crate) fn on_one_thread(self) -> Self {
        Self { threads: 1, ..self }
    }

    /// Returns the postings lists of a side, ordered by field.
    pub(super) fn lists(&self, side: &Side) -> Result<Vec<ListRange>> {
        let mut lists = Vec::new();
        let mut take = |word: &str, field, info: &TermInfo| {
            lists.push(ListRange {
                field,
                is_numeric: is_numeric(word),
                info: info.clone(),
                within: ALL_DOCS,
            });
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

    /// Calls `read` with all lists, or on several threads with parts of them if they have at least `shared_from`
    /// postings.
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

    /// Calls `take` with each term of a word with the prefix `prefix`.
    pub(crate) fn each_term(
        &self,
        prefix: &str,
        take: impl FnMut(&str, FieldId, &TermInfo) -> Result<()>,
    ) -> Result<()> {
        // UTF-8 has no byte 0xff, so this is above all words with the prefix.
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

    /// Calls `take` with the docids of live documents of a list.
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

    /// Returns the value cached under `key`. If there is none, computes it with `make` and caches it under the key from
    /// `owned`.
    pub(super) fn cached<C, T>(
        &self,
        key: &(impl Hash + Equivalent<C::Key> + ?Sized),
        owned: impl FnOnce() -> C::Key,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<Cached<T>>>
    where
        C: CachedKind<Value = Cached<T>>,
        T: Send + Sync,
    {
        let known = self.view.cache().get::<C>(key);
        // The value was cached by a reader of a later commit, without documents that this commit still has.
        let by_newer = known.as_ref().is_some_and(|known| known.deleted > self.deleted);
        if let Some(known) = known.filter(|_| !by_newer) {
            return Ok(known);
        }
        let made = Arc::new(Cached { deleted: self.deleted, value: make()? });
        // A value cut short by the budget is of no use to other searches, so it is not cached.
        if !by_newer && !self.budget.is_overdrawn() {
            self.view.cache().insert::<C>(owned(), &made);
        }
        Ok(made)
    }
}
