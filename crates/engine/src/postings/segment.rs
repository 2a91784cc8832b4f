//! Here is a segment: which documents hold a word of it, or any word with one beginning, and where?
//!
//! Answers speak of all fields, searchable or not, and are kept with the segment from commit to commit. A
//! document deleted since they were worked out is masked; an older reader than they were made for, who would
//! miss it, works them out for itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::directory::FileSlice;
use tantivy::postings::TermInfo;
use tantivy::{DocId, InvertedIndexReader};

use super::Budget;
use super::list_reader::{ListReader, WHOLE};
use super::nearness::ByDistance;
use super::occurrences::{Occurrences, pack};
use super::positions::{PositionDocs, PositionSets};
use crate::error::Result;
use crate::fields::FieldId;
use crate::generation_cache::GenerationCache;
use crate::store::schema::{self, is_numeric, parse_term};
use crate::store::{DELETED, DocidSet, SegmentView};
use crate::threads::{self, in_parallel};

/// What is kept of a segment.
#[derive(Default)]
pub(super) struct SegmentCache {
    docs: GenerationCache<Key, Kept<RoaringBitmap>>,
    prefixes: GenerationCache<Box<str>, Kept<PrefixDocs>>,
    positions: GenerationCache<Key, Kept<ByField<PositionDocs>>>,
    places: GenerationCache<Box<str>, Kept<Occurrences>>,
    pub(super) near: GenerationCache<(Side, Side), Kept<ByField<ByDistance>>>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Word(Box<str>, FieldId),
    /// All fields.
    AnyField(Box<str>),
    Prefix(Box<str>),
    /// As far as is told apart, and the first after that.
    FirstOfPrefix(Box<str>),
    Length(usize, FieldId),
}

/// A word, or all words with one beginning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Side {
    /// The word itself.
    Word(Box<str>),
    /// What begins with it.
    Prefix(Box<str>),
}

/// Something worked out when the segment had lost so many documents.
pub(super) struct Kept<T> {
    pub(super) lost: u32,
    pub(super) value: T,
}

/// Documents, borrowed from what is kept unless some had to be masked.
pub(super) enum Docs {
    Kept(Arc<Kept<RoaringBitmap>>),
    Masked(RoaringBitmap),
}

impl Deref for Docs {
    type Target = RoaringBitmap;

    fn deref(&self) -> &RoaringBitmap {
        match self {
            Self::Kept(kept) => &kept.value,
            Self::Masked(docs) => docs,
        }
    }
}

/// By ascending field.
pub(super) type ByField<T> = Vec<(FieldId, T)>;

/// Documents of all words with one beginning.
pub(super) struct PrefixDocs {
    pub(super) all: ByField<RoaringBitmap>,
    /// The same without words that are numbers; None if there are none.
    pub(super) without_numbers: Option<ByField<RoaringBitmap>>,
}

impl PrefixDocs {
    fn bytes(&self) -> usize {
        let bytes = |fields: &ByField<RoaringBitmap>| {
            fields.iter().map(|(_, docs)| bitmap_bytes(docs)).sum::<usize>()
        };
        bytes(&self.all) + self.without_numbers.as_ref().map_or(0, bytes)
    }
}

/// Memory for what is kept of a segment, per generation of each kind: so much, and so much for a document.
const BYTES_MAX: usize = 6 << 20;
/// See [`BYTES_MAX`].
const BYTES_PER_DOCUMENT: usize = 8;

/// Postings of a beginning up to which its places are worked out for the whole segment.
const PLACES_POSTINGS_MAX: u64 = 1 << 20;

pub(super) fn bitmap_bytes(docs: &RoaringBitmap) -> usize {
    docs.serialized_size() + size_of::<RoaringBitmap>()
}

/// Positions of several parts, field by field.
fn unite_positions(parts: Vec<ByField<PositionDocs>>) -> ByField<PositionDocs> {
    let mut found: BTreeMap<FieldId, PositionDocs> = BTreeMap::new();
    for (field, positions) in parts.into_iter().flatten() {
        let found = found.entry(field).or_default();
        positions.into_buckets().into_iter().for_each(|(bucket, docs)| found.unite(bucket, docs));
    }
    found.into_iter().collect()
}

fn positions_bytes(fields: &ByField<PositionDocs>) -> usize {
    fields.iter().map(|(_, positions)| positions.bytes()).sum()
}

/// Documents of words and of those that are numbers.
pub(super) type WordsAndNumbers = [ByField<RoaringBitmap>; 2];

/// Something on its way, field by field. Many documents have few fields, so each is found by its number.
pub(super) struct Fields<T>(Vec<Option<T>>);

impl<T> Default for Fields<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Fields<T> {
    pub(super) fn of(&mut self, field: FieldId, empty: impl FnOnce() -> T) -> &mut T {
        let at = usize::from(field);
        if at >= self.0.len() {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at].get_or_insert_with(empty)
    }

    /// Finished one by one.
    pub(super) fn finish<R>(self, mut finish: impl FnMut(T) -> R) -> ByField<R> {
        let fields = (0..).zip(self.0);
        fields.filter_map(|(field, building)| Some((field, finish(building?)))).collect()
    }
}

/// A postings list of one of the words asked for, or a part of it.
#[derive(Clone)]
pub(super) struct List {
    pub(super) field: FieldId,
    is_numeric: bool,
    pub(super) info: TermInfo,
    /// Documents that are read of it.
    pub(super) within: Range<DocId>,
}

/// Cuts the reading of lists into about equal shares: between lists, and where one is long also in its middle, taking
/// its documents to be spread evenly over `0..end`.
fn share_out(lists: &[List], threads: usize, end: DocId) -> Vec<Vec<List>> {
    let all = frequency(lists);
    let border = |shares: usize| all * shares as u64 / threads as u64;
    let (mut shares, mut share, mut before) = (Vec::with_capacity(threads), Vec::new(), 0);
    for list in lists {
        let (mut rest, postings) = (list.clone(), u64::from(list.info.doc_freq));
        while shares.len() + 1 < threads && border(shares.len() + 1) < before + postings {
            if postings >= CUT_POSTINGS_MIN {
                let here = border(shares.len() + 1).saturating_sub(before);
                let cut = (u64::from(end) * here / postings) as DocId;
                share.push(List { within: rest.within.start..cut, ..rest.clone() });
                rest.within.start = cut;
            }
            shares.push(std::mem::take(&mut share));
        }
        share.push(rest);
        before += postings;
    }
    shares.push(share);
    shares
}

/// Postings of all lists.
pub(super) fn frequency(lists: &[List]) -> u64 {
    lists.iter().map(|list| u64::from(list.info.doc_freq)).sum()
}

/// Postings from which several threads share the reading: it takes a millisecond then, a thread 0.05.
const SHARED_POSTINGS_MIN: u64 = 1 << 17;

/// The same where positions are read too: a millisecond and more.
pub(super) const SHARED_POSITIONS_MIN: u64 = 1 << 14;

/// Postings of one list from which threads share it. To find where the positions of its second half begin, the counts
/// of its first are read, a tenth of the work.
const CUT_POSTINGS_MIN: u64 = 1 << 14;

/// Adds documents to those of a field.
pub(super) fn unite(fields: &mut ByField<RoaringBitmap>, field: FieldId, docs: &RoaringBitmap) {
    match fields.binary_search_by_key(&field, |(known, _)| *known) {
        Ok(at) => fields[at].1 |= docs,
        Err(at) => fields.insert(at, (field, docs.clone())),
    }
}

/// A segment and what is known of it.
pub(super) struct Segment<'a> {
    pub(super) view: &'a SegmentView,
    index: &'a InvertedIndexReader,
    pub(super) positions: &'a FileSlice,
    pub(super) cache: Arc<SegmentCache>,
    lost: u32,
    pub(super) budget: &'a Budget,
    /// That share what is to be read.
    pub(super) threads: usize,
}

impl<'a> Segment<'a> {
    /// `index` and `positions`: the field `text` of the segment.
    pub(super) fn new(
        view: &'a SegmentView,
        index: &'a InvertedIndexReader,
        positions: &'a FileSlice,
        budget: &'a Budget,
    ) -> Self {
        let lost = view.reader.max_doc() - view.live.len() as u32;
        Self {
            view,
            index,
            positions,
            cache: view.attachments().get(),
            lost,
            budget,
            threads: threads::for_a_search(),
        }
    }

    /// For a thread that shares work by whole segments.
    pub(super) fn on_one_thread(self) -> Self {
        Self { threads: 1, ..self }
    }

    /// Live documents of a postings list of `text`.
    pub(super) fn word_docs(&self, text: &str, field: FieldId, info: &TermInfo) -> Result<Docs> {
        let key = Key::Word(text.into(), field);
        let kept = self.kept(&self.cache.docs, key, bitmap_bytes, || {
            let mut docs = self.view.docid_set();
            self.each_docid(&mut self.reader(), info, &WHOLE, |docid| docs.add(docid))?;
            Ok(docs.finish())
        })?;
        Ok(self.masked(kept))
    }

    /// Live documents whose `field` holds exactly `words` stored words.
    pub(super) fn length_docs(
        &self,
        lengths: tantivy::schema::Field,
        field: FieldId,
        words: usize,
    ) -> Result<Docs> {
        let kept = self.kept(&self.cache.docs, Key::Length(words, field), bitmap_bytes, || {
            let index = self.view.reader.inverted_index(lengths)?;
            let mut docs = self.view.docid_set();
            if let Some(info) = index.terms().get(schema::term(&words.to_string(), field))? {
                let mut reader = ListReader::new(&index, self.budget);
                self.each_docid(&mut reader, &info, &WHOLE, |docid| docs.add(docid))?;
            }
            Ok(docs.finish())
        })?;
        Ok(self.masked(kept))
    }

    /// Live documents of all words that begin with `prefix`, field by field.
    pub(super) fn prefix_docs(&self, prefix: &str) -> Result<PrefixDocs> {
        let kept = self.kept(&self.cache.prefixes, prefix.into(), PrefixDocs::bytes, || {
            let parts = match self.initials(prefix) {
                Some(initial) => vec![self.initial_docs(initial)?],
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
        })?;
        let fields = |fields: &ByField<RoaringBitmap>| -> ByField<RoaringBitmap> {
            fields.iter().map(|(field, docs)| (*field, self.mask(kept.lost, docs).into_owned())).collect()
        };
        let PrefixDocs { all, without_numbers } = &kept.value;
        Ok(PrefixDocs { all: fields(all), without_numbers: without_numbers.as_ref().map(fields) })
    }

    /// Documents of the words of a side and of those that are numbers, field by field, in several parts.
    fn listed_docs(&self, side: &Side) -> Result<Vec<WordsAndNumbers>> {
        self.read_lists(&self.lists(side)?, SHARED_POSTINGS_MIN, |lists| {
            let (mut words, mut numbers) = (Fields::default(), Fields::default());
            let mut reader = self.reader();
            for list in lists {
                let sets = if list.is_numeric { &mut numbers } else { &mut words };
                let set = sets.of(list.field, || self.view.docid_set());
                self.each_docid(&mut reader, &list.info, &list.within, |docid| set.add(docid))?;
            }
            Ok([words.finish(DocidSet::finish), numbers.finish(DocidSet::finish)])
        })
    }

    /// Live documents by position of a word.
    pub(super) fn word_positions(
        &self,
        text: &str,
        mut take: impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        self.each_position_set(&*self.kept_word_positions(text)?, &mut take);
        Ok(())
    }

    /// What [`Segment::word_positions`] speaks of, deleted documents included.
    pub(super) fn kept_word_positions(&self, text: &str) -> Result<Arc<Kept<ByField<PositionDocs>>>> {
        self.kept(&self.cache.positions, Key::AnyField(text.into()), positions_bytes, || {
            self.positions_of(&Side::Word(text.into()))
        })
    }

    /// Live documents by position of all words that begin with `prefix`; unless `all` is asked for, of those that lie
    /// further on than is told apart perhaps only the first of an attribute.
    pub(super) fn prefix_positions(
        &self,
        prefix: &str,
        all: bool,
        mut take: impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        self.each_position_set(&*self.kept_prefix_positions(prefix, all)?, &mut take);
        Ok(())
    }

    /// What [`Segment::prefix_positions`] speaks of, deleted documents included.
    pub(super) fn kept_prefix_positions(
        &self,
        prefix: &str,
        all: bool,
    ) -> Result<Arc<Kept<ByField<PositionDocs>>>> {
        let key = if all { Key::Prefix(prefix.into()) } else { Key::FirstOfPrefix(prefix.into()) };
        self.kept(&self.cache.positions, key, positions_bytes, || match self.initials(prefix) {
            Some(initial) if !all => self.initial_positions(initial),
            _ => self.positions_of(&Side::Prefix(prefix.into())),
        })
    }

    fn positions_of(&self, side: &Side) -> Result<ByField<PositionDocs>> {
        let parts = self.read_lists(&self.lists(side)?, SHARED_POSITIONS_MIN, |lists| {
            let mut sets: Fields<PositionSets> = Fields::default();
            let mut reader = self.reader();
            for list in lists {
                let sets = sets.of(list.field, PositionSets::default);
                self.each_docid_with_positions(&mut reader, list, |docid, positions| {
                    sets.add(docid, positions, || self.view.docid_set());
                })?;
            }
            Ok(sets.finish(PositionSets::finish))
        })?;
        Ok(unite_positions(parts))
    }

    /// Places of all words that begin with `prefix`, in all fields, documents deleted since included. None
    /// if they are very many.
    pub(super) fn prefix_places(&self, prefix: &str) -> Result<Option<Arc<Kept<Occurrences>>>> {
        let mut lists = Vec::new();
        let known = self.cache.places.get(&prefix.into()).filter(|known| known.lost <= self.lost);
        if known.is_none() {
            lists = self.lists(&Side::Prefix(prefix.into()))?;
        }
        if frequency(&lists) > PLACES_POSTINGS_MAX {
            return Ok(None);
        }
        let kept = self.kept(&self.cache.places, prefix.into(), Occurrences::bytes, || {
            let mut places = Vec::with_capacity(frequency(&lists) as usize);
            let mut reader = self.reader();
            for list in &lists {
                self.each_docid_with_positions(&mut reader, list, |docid, positions| {
                    places.extend(positions.iter().map(|&position| pack(docid, list.field, position)));
                })?;
            }
            Ok(Occurrences::new(places))
        })?;
        Ok(Some(kept))
    }

    /// Postings lists of a side by field.
    pub(super) fn lists(&self, side: &Side) -> Result<Vec<List>> {
        let mut lists = Vec::new();
        let mut take = |word: &str, field, info: &TermInfo| {
            lists.push(List { field, is_numeric: is_numeric(word), info: info.clone(), within: WHOLE });
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
        lists: &[List],
        shared_from: u64,
        read: impl Fn(&[List]) -> Result<T> + Sync,
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
    pub(super) fn each_term(
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

    fn each_docid_with_positions(
        &self,
        reader: &mut ListReader,
        list: &List,
        mut take: impl FnMut(u32, &[u32]),
    ) -> Result<()> {
        let docids = &*self.view.docids;
        let is_live = |doc: DocId| docids[doc as usize] != DELETED;
        reader.each_doc_with_positions(&list.info, &list.within, self.positions, is_live, |doc, positions| {
            take(docids[doc as usize], positions);
        })
    }

    fn each_position_set(
        &self,
        kept: &Kept<ByField<PositionDocs>>,
        take: &mut impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) {
        for (field, sets) in &kept.value {
            for (position, docs) in sets.iter() {
                take(*field, position, self.mask(kept.lost, docs));
            }
        }
    }

    pub(super) fn mask<'d>(&self, lost: u32, docs: &'d RoaringBitmap) -> Cow<'d, RoaringBitmap> {
        if lost == self.lost { Cow::Borrowed(docs) } else { Cow::Owned(docs & &*self.view.live) }
    }

    fn masked(&self, kept: Arc<Kept<RoaringBitmap>>) -> Docs {
        if kept.lost == self.lost { Docs::Kept(kept) } else { Docs::Masked(&kept.value & &*self.view.live) }
    }

    pub(super) fn kept<K: std::hash::Hash + Eq, T>(
        &self,
        cache: &GenerationCache<K, Kept<T>>,
        key: K,
        bytes: fn(&T) -> usize,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<Kept<T>>> {
        let known = cache.get(&key);
        let by_newer = known.as_ref().is_some_and(|known| known.lost > self.lost);
        if let Some(known) = known.filter(|known| known.lost <= self.lost) {
            return Ok(known);
        }
        let made = Arc::new(Kept { lost: self.lost, value: make()? });
        // A list that was cut short answers no other search, so it is not cached.
        if !by_newer && !self.budget.is_overdrawn() {
            let bytes_max = BYTES_MAX + self.view.reader.max_doc() as usize * BYTES_PER_DOCUMENT;
            cache.insert(key, Arc::clone(&made), bytes(&made.value), bytes_max);
        }
        Ok(made)
    }
}
