//! Finds documents by the distance and order of two words.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::by_distance::{ByDistance, by_distance};
use super::cache::{PairReads, Pairs};
use super::field_docs::{FieldDocs, Reading};
use super::occurrences::Occurrences;
use super::reader::Postings;
use super::side::{Orders, Side};
use super::word::Word;
use crate::cache::Both;
use crate::error::Result;
use crate::settings::ProximityPrecision;

/// If at least this many documents contain both words, distances are computed for the complete index and cached.
pub(super) const NEAR_DOCUMENTS_MIN: u64 = 2048;

/// Once this many documents were read for a pair, the documents with both words are counted.
const READ_DOCUMENTS_MIN: u64 = 32;

/// The distances of a pair are computed and cached once this share of the documents with both words was read: 1 in 4.
const READ_SHARE: u64 = 4;

impl Postings {
    /// Returns true if words count as near when they share an attribute, at any positions.
    pub fn nearness_is_by_attribute(&self) -> bool {
        self.snapshot.settings().proximity_precision == ProximityPrecision::ByAttribute
    }

    /// Returns the documents of the index where `right` follows `left`. May list a document at several distances; the
    /// first is its least. Computed once and cached; meant for frequent words. With [`Orders::Both`], also caches the
    /// other order.
    pub fn near_docs(&self, left: &Side, right: &Side, orders: Orders) -> Result<Arc<ByDistance>> {
        if let Some(known) = self.cache().get::<Pairs>(&Both(left, right)) {
            return Ok(known);
        }
        self.share_segments(|segment| segment.cached_near(left, right, orders).map(|_| ()))?;
        let mut near = ByDistance::default();
        for segment in self.segments() {
            segment.near(left, right, orders, |field, distance, docs| {
                if self.searchable.weight(field).is_some() {
                    near[distance] |= &*docs;
                }
            })?;
        }
        Ok(self.insert::<Pairs>((left.clone(), right.clone()), near))
    }

    /// As [`Postings::near_docs`], but only if the result is cached, or cheap to compute compared with the documents
    /// that callers have read for this pair so far, including `asked` now.
    pub(super) fn near_docs_if_cheap(
        &self,
        left: &Side,
        right: &Side,
        orders: Orders,
        asked: u64,
    ) -> Result<Option<Arc<ByDistance>>> {
        let (key, owned) = (Both(left, right), || (left.clone(), right.clone()));
        if let Some(known) = self.cache().get::<Pairs>(&key) {
            return Ok(Some(known));
        }
        let read = self.add::<PairReads>(&key, owned, asked);
        // Counts the documents with both again only when the number of reads has doubled.
        if read < READ_DOCUMENTS_MIN || read.ilog2() == (read - asked).max(1).ilog2() {
            return Ok(None);
        }
        let both = self.docs_with_both(left, right)?;
        if both.len() > read * READ_SHARE {
            return Ok(None);
        }
        if both.len() >= NEAR_DOCUMENTS_MIN {
            return self.near_docs(left, right, orders).map(Some);
        }
        let (lefts, rights) = (self.side_occurrences(left, &both)?, self.side_occurrences(right, &both)?);
        if orders == Orders::Both {
            self.insert::<Pairs>((right.clone(), left.clone()), by_distance(rights.distances_to(&lefts)));
        }
        Ok(Some(self.insert::<Pairs>(owned(), by_distance(lefts.distances_to(&rights)))))
    }

    /// Returns the documents with a searchable attribute that contains both sides.
    fn docs_with_both(&self, left: &Side, right: &Side) -> Result<RoaringBitmap> {
        let (Some(lefts), Some(rights)) = (self.side_docs(left)?, self.side_docs(right)?) else {
            return Ok(RoaringBitmap::new());
        };
        let both = lefts.fields().filter_map(|(field, docs)| Some(docs & rights.in_field(field)?));
        Ok(both.fold(RoaringBitmap::new(), |all, docs| all | docs))
    }

    fn side_docs(&self, side: &Side) -> Result<Option<Arc<FieldDocs>>> {
        match side {
            Side::Word(text) => self.word(text)?.map(|word| self.word_docs(&word)).transpose(),
            Side::Prefix(prefix) => self.prefix_docs(prefix).map(Some),
        }
    }

    fn side_occurrences(&self, side: &Side, universe: &RoaringBitmap) -> Result<Occurrences> {
        match side {
            Side::Word(text) => self.occurrences(self.word(text)?.iter(), universe),
            Side::Prefix(prefix) => self.prefix_occurrences(prefix, universe),
        }
    }

    /// Returns the documents of `universe` where `right` follows `left`, by least distance. With proximity by
    /// attribute, documents with both words in an attribute are at every distance.
    pub fn pairs(&self, left: &Word, right: &Word, universe: &RoaringBitmap) -> Result<ByDistance> {
        let (left_docs, right_docs) = (self.word_docs(left)?, self.word_docs(right)?);
        if self.nearness_is_by_attribute() {
            let together = left_docs
                .fields()
                .filter_map(|(field, docs)| Some(docs & right_docs.in_field(field)? & universe));
            let together = together.fold(RoaringBitmap::new(), |all, docs| all | docs);
            return Ok([together.clone(), together.clone(), together]);
        }
        let anywhere = |docs: &FieldDocs| docs.matching(Reading::default(), &self.searchable);
        let both = anywhere(&left_docs) & anywhere(&right_docs) & universe;
        if both.len() >= NEAR_DOCUMENTS_MIN {
            let side = |word: &Word| Side::Word(word.text.clone());
            let near = self.near_docs(&side(left), &side(right), Orders::Forward)?;
            let [first, second, third] = std::array::from_fn(|distance| &near[distance] & universe);
            let second = second - &first;
            let third = third - &first - &second;
            return Ok([first, second, third]);
        }
        let lefts = self.occurrences([left].into_iter(), &both)?;
        let rights = self.occurrences([right].into_iter(), &both)?;
        Ok(by_distance(lefts.distances_to(&rights)))
    }

    /// Returns the documents of `universe` that contain a phrase. `None` in `slots` stands for any word.
    ///
    /// Checks three slots at a time: neighbours must be adjacent, and words with one slot between them at most two
    /// apart. Pairs of a phrase may match at different positions of a document. Source: search §5.5.
    pub fn phrase_docs(
        &self,
        slots: &[Option<&str>],
        reading: Reading,
        universe: &RoaringBitmap,
    ) -> Result<RoaringBitmap> {
        let mut words: Vec<Option<Word>> = Vec::with_capacity(slots.len());
        let mut docs = universe.clone();
        for slot in slots {
            let Some(text) = slot else {
                words.push(None);
                continue;
            };
            let Some(word) = self.word(text)? else { return Ok(RoaringBitmap::new()) };
            docs &= self.word_docs(&word)?.matching(reading, &self.searchable);
            words.push(Some(word));
        }
        for left in 0..words.len() {
            for gap in 1..=2 {
                let (Some(first), Some(Some(second))) = (&words[left], words.get(left + gap)) else {
                    continue;
                };
                if docs.is_empty() {
                    return Ok(docs);
                }
                docs = self.pairs(first, second, &docs)?[..gap]
                    .iter()
                    .fold(RoaringBitmap::new(), |near, docs| near | docs);
            }
        }
        Ok(docs)
    }
}
