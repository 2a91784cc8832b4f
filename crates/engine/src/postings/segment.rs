//! Here is a segment: which documents hold a word of it, or any word with one beginning, and where?
//!
//! Answers speak of all fields, searchable or not, and are kept with the segment from commit to commit. A
//! document deleted since they were worked out is masked; an older reader than they were made for, who would
//! miss it, works them out for itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::postings::{Postings as _, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, InvertedIndexReader, TERMINATED};

use super::Budget;
use super::cache::Generations;
use super::docid_set::DocidSet;
use super::nearness::{ByDistance, DISTANCE_MAX};
use super::occurrences::{Occurrences, pack};
use super::positions::{PositionDocs, PositionSets};
use super::searchable::is_numeric;
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::schema::{self, parse_term};
use crate::store::{DELETED, SegmentView};

/// What is kept of a segment.
#[derive(Default)]
pub(super) struct SegmentCache {
    docs: Generations<Key, Kept<RoaringBitmap>>,
    prefixes: Generations<Box<str>, Kept<PrefixDocs>>,
    positions: Generations<Key, Kept<ByField<PositionDocs>>>,
    places: Generations<Box<str>, Kept<Occurrences>>,
    near: Generations<(Side, Side), Kept<ByField<ByDistance>>>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Word(Box<str>, FieldId),
    /// All fields.
    AnyField(Box<str>),
    Prefix(Box<str>),
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
    lost: u32,
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

fn bitmap_bytes(docs: &RoaringBitmap) -> usize {
    docs.serialized_size() + size_of::<RoaringBitmap>()
}

fn positions_bytes(fields: &ByField<PositionDocs>) -> usize {
    fields.iter().map(|(_, positions)| positions.bytes()).sum()
}

/// Sets on their way, field by field.
#[derive(Default)]
struct FieldSets(BTreeMap<FieldId, DocidSet>);

impl FieldSets {
    fn of(&mut self, field: FieldId, empty: impl FnOnce() -> DocidSet) -> &mut DocidSet {
        self.0.entry(field).or_insert_with(empty)
    }

    fn finish(self) -> ByField<RoaringBitmap> {
        self.0.into_iter().map(|(field, set)| (field, set.finish())).collect()
    }
}

#[derive(Default)]
struct FieldPositions(BTreeMap<FieldId, PositionSets>);

impl FieldPositions {
    fn of(&mut self, field: FieldId) -> &mut PositionSets {
        self.0.entry(field).or_default()
    }

    fn finish(self) -> ByField<PositionDocs> {
        self.0.into_iter().map(|(field, sets)| (field, sets.finish())).collect()
    }
}

/// Adds documents to those of a field.
pub(super) fn unite(fields: &mut ByField<RoaringBitmap>, field: FieldId, docs: &RoaringBitmap) {
    match fields.binary_search_by_key(&field, |(known, _)| *known) {
        Ok(at) => fields[at].1 |= docs,
        Err(at) => fields.insert(at, (field, docs.clone())),
    }
}

/// A segment and what is known of it.
pub(super) struct Segment<'a> {
    view: &'a SegmentView,
    index: &'a InvertedIndexReader,
    cache: Arc<SegmentCache>,
    lost: u32,
    budget: &'a Budget,
}

impl<'a> Segment<'a> {
    /// `index`: the field `text` of the segment.
    pub(super) fn new(view: &'a SegmentView, index: &'a InvertedIndexReader, budget: &'a Budget) -> Self {
        let lost = view.reader.max_doc() - view.live.len() as u32;
        Self { view, index, cache: view.attachments().get(), lost, budget }
    }

    /// Live documents of a postings list of `text`.
    pub(super) fn word_docs(&self, text: &str, field: FieldId, info: &TermInfo) -> Result<Docs> {
        let key = Key::Word(text.into(), field);
        let kept = self.kept(&self.cache.docs, key, bitmap_bytes, || {
            let mut docs = self.empty_set();
            self.each_docid(self.index, info, |docid| docs.add(docid))?;
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
            let mut docs = self.empty_set();
            if let Some(info) = index.terms().get(schema::term(&words.to_string(), field))? {
                self.each_docid(&index, &info, |docid| docs.add(docid))?;
            }
            Ok(docs.finish())
        })?;
        Ok(self.masked(kept))
    }

    /// Live documents of all words that begin with `prefix`, field by field.
    pub(super) fn prefix_docs(&self, prefix: &str) -> Result<PrefixDocs> {
        let kept = self.kept(&self.cache.prefixes, prefix.into(), PrefixDocs::bytes, || {
            let (mut words, mut numbers) = (FieldSets::default(), FieldSets::default());
            self.each_term(prefix, |word, field, info| {
                let sets = if is_numeric(word) { &mut numbers } else { &mut words };
                let set = sets.of(field, || self.empty_set());
                self.each_docid(self.index, info, |docid| set.add(docid))
            })?;
            let (words, numbers) = (words.finish(), numbers.finish());
            Ok(if numbers.is_empty() {
                PrefixDocs { all: words, without_numbers: None }
            } else {
                let mut all = numbers;
                words.iter().for_each(|(field, docs)| unite(&mut all, *field, docs));
                PrefixDocs { all, without_numbers: Some(words) }
            })
        })?;
        let fields = |fields: &ByField<RoaringBitmap>| -> ByField<RoaringBitmap> {
            fields.iter().map(|(field, docs)| (*field, self.mask(kept.lost, docs).into_owned())).collect()
        };
        let PrefixDocs { all, without_numbers } = &kept.value;
        Ok(PrefixDocs { all: fields(all), without_numbers: without_numbers.as_ref().map(fields) })
    }

    /// Live documents by position of a word.
    pub(super) fn word_positions(
        &self,
        text: &str,
        mut take: impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        let kept = self.kept(&self.cache.positions, Key::AnyField(text.into()), positions_bytes, || {
            let mut sets = FieldPositions::default();
            let word = Side::Word(text.into());
            self.each_term_of(&word, |_, field, info| self.add_positions(info, sets.of(field)))?;
            Ok(sets.finish())
        })?;
        self.each_position_set(&kept, &mut take);
        Ok(())
    }

    /// Live documents by position of all words that begin with `prefix`.
    pub(super) fn prefix_positions(
        &self,
        prefix: &str,
        mut take: impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        let kept = self.kept(&self.cache.positions, Key::Prefix(prefix.into()), positions_bytes, || {
            let mut sets = FieldPositions::default();
            self.each_term(prefix, |_, field, info| self.add_positions(info, sets.of(field)))?;
            Ok(sets.finish())
        })?;
        self.each_position_set(&kept, &mut take);
        Ok(())
    }

    /// Places of all words that begin with `prefix`, in all fields, documents deleted since included. None
    /// if they are very many.
    pub(super) fn prefix_places(&self, prefix: &str) -> Result<Option<Arc<Kept<Occurrences>>>> {
        let mut postings = 0u64;
        let known = self.cache.places.get(&prefix.into()).filter(|known| known.lost <= self.lost);
        if known.is_none() {
            self.each_term(prefix, |_, _, info| {
                postings += u64::from(info.doc_freq);
                Ok(())
            })?;
        }
        if postings > PLACES_POSTINGS_MAX {
            return Ok(None);
        }
        let kept = self.kept(&self.cache.places, prefix.into(), Occurrences::bytes, || {
            let mut places = Vec::with_capacity(postings as usize);
            self.each_term(prefix, |_, field, info| {
                self.each_positions(info, |docid, positions| {
                    places.extend(positions.iter().map(|&position| pack(docid, field, position)));
                })
            })?;
            Ok(Occurrences::new(places))
        })?;
        Ok(Some(kept))
    }

    /// Live documents where `right` follows `left`, by least distance in a field.
    pub(super) fn near(
        &self,
        left: &Side,
        right: &Side,
        mut take: impl FnMut(FieldId, usize, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        let key = (left.clone(), right.clone());
        let bytes = |fields: &ByField<ByDistance>| -> usize {
            fields.iter().flat_map(|(_, near)| near).map(bitmap_bytes).sum()
        };
        let kept = self.kept(&self.cache.near, key, bytes, || {
            let (left_docs, right_docs) = (self.side_docs(left)?, self.side_docs(right)?);
            let mut shared = ByField::new();
            for (field, docs) in left_docs {
                if let Ok(at) = right_docs.binary_search_by_key(&field, |(known, _)| *known) {
                    shared.push((field, docs & &right_docs[at].1));
                }
            }
            let (lefts, rights) = (self.side_places(left, &shared)?, self.side_places(right, &shared)?);
            let mut sets: BTreeMap<FieldId, [DocidSet; DISTANCE_MAX as usize]> = BTreeMap::new();
            lefts.each_distance_to(&rights, |docid, field, distance| {
                let sets = sets.entry(field).or_insert_with(|| std::array::from_fn(|_| self.empty_set()));
                sets[usize::from(distance) - 1].add(docid);
            });
            Ok(sets.into_iter().map(|(field, sets)| (field, sets.map(DocidSet::finish))).collect())
        })?;
        for (field, near) in &kept.value {
            near.iter().enumerate().for_each(|(at, docs)| take(*field, at, self.mask(kept.lost, docs)));
        }
        Ok(())
    }

    fn side_docs(&self, side: &Side) -> Result<ByField<RoaringBitmap>> {
        if let Side::Prefix(prefix) = side {
            return Ok(self.prefix_docs(prefix)?.all);
        }
        let mut docs = ByField::new();
        self.each_term_of(side, |text, field, info| {
            docs.push((field, self.word_docs(text, field, info)?.clone()));
            Ok(())
        })?;
        Ok(docs)
    }

    /// Places of a side in those documents of each field.
    fn side_places(&self, side: &Side, docs: &ByField<RoaringBitmap>) -> Result<Occurrences> {
        let last = docs.iter().filter_map(|(_, docs)| docs.max()).max().unwrap_or(0);
        let marks: Vec<(FieldId, Vec<u64>)> = docs
            .iter()
            .map(|(field, docs)| {
                let mut marks = vec![0u64; last as usize / 64 + 1];
                docs.iter().for_each(|docid| marks[docid as usize / 64] |= 1 << (docid % 64));
                (*field, marks)
            })
            .collect();
        let mut places = Vec::new();
        self.each_term_of(side, |_, field, info| {
            let Ok(at) = marks.binary_search_by_key(&field, |(known, _)| *known) else { return Ok(()) };
            let marks = &marks[at].1;
            let wanted =
                |docid: u32| marks.get(docid as usize / 64).is_some_and(|bits| bits >> (docid % 64) & 1 == 1);
            self.each_positions_where(info, wanted, |docid, positions| {
                places.extend(positions.iter().map(|&position| pack(docid, field, position)));
            })
        })?;
        Ok(Occurrences::new(places))
    }

    fn each_term_of(
        &self,
        side: &Side,
        take: impl FnMut(&str, FieldId, &TermInfo) -> Result<()>,
    ) -> Result<()> {
        match side {
            Side::Prefix(prefix) => self.each_term(prefix, take),
            Side::Word(text) => {
                let (low, high) = ([text.as_bytes(), &[0]].concat(), [text.as_bytes(), &[1]].concat());
                self.each_term_between(&low, &high, take)
            }
        }
    }

    /// Postings lists of all words that begin with `prefix`.
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

    fn each_docid(
        &self,
        index: &InvertedIndexReader,
        info: &TermInfo,
        mut take: impl FnMut(u32),
    ) -> Result<()> {
        let mut postings = index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
        let mut doc = postings.doc();
        while doc != TERMINATED && !self.budget.stops() {
            let docid = self.view.docids[doc as usize];
            if docid != DELETED {
                take(docid);
            }
            doc = postings.advance();
        }
        Ok(())
    }

    fn each_positions(&self, info: &TermInfo, take: impl FnMut(u32, &[u32])) -> Result<()> {
        self.each_positions_where(info, |_| true, take)
    }

    fn each_positions_where(
        &self,
        info: &TermInfo,
        wanted: impl Fn(u32) -> bool,
        mut take: impl FnMut(u32, &[u32]),
    ) -> Result<()> {
        let option = IndexRecordOption::WithFreqsAndPositions;
        let mut postings = self.index.read_postings_from_terminfo(info, option)?;
        let mut positions = Vec::new();
        let mut doc = postings.doc();
        while doc != TERMINATED && !self.budget.stops() {
            let docid = self.view.docids[doc as usize];
            if docid != DELETED && wanted(docid) {
                positions.clear();
                postings.positions(&mut positions);
                take(docid, &positions);
            }
            doc = postings.advance();
        }
        Ok(())
    }

    fn add_positions(&self, info: &TermInfo, sets: &mut PositionSets) -> Result<()> {
        self.each_positions(info, |docid, positions| sets.add(docid, positions, || self.empty_set()))
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

    fn empty_set(&self) -> DocidSet {
        DocidSet::new(self.view.live.min().unwrap_or(0), self.view.live.max().unwrap_or(0))
    }

    fn mask<'d>(&self, lost: u32, docs: &'d RoaringBitmap) -> Cow<'d, RoaringBitmap> {
        if lost == self.lost { Cow::Borrowed(docs) } else { Cow::Owned(docs & &*self.view.live) }
    }

    fn masked(&self, kept: Arc<Kept<RoaringBitmap>>) -> Docs {
        if kept.lost == self.lost { Docs::Kept(kept) } else { Docs::Masked(&kept.value & &*self.view.live) }
    }

    fn kept<K: std::hash::Hash + Eq, T>(
        &self,
        cache: &Generations<K, Kept<T>>,
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
        // What was cut short is good for nobody else.
        if !by_newer && !self.budget.is_overdrawn() {
            let bytes_max = BYTES_MAX + self.view.reader.max_doc() as usize * BYTES_PER_DOCUMENT;
            cache.insert(key, Arc::clone(&made), bytes(&made.value), bytes_max);
        }
        Ok(made)
    }
}
