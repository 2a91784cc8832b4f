//! Which documents of a segment hold words that begin with one letter, and where?
//!
//! The answers come from the first letters stored with the segment, instead of the thousands of postings
//! lists of those words.

use std::ops::Range;

use roaring::RoaringBitmap;
use tantivy::DocId;

use super::lists::{ListRange, SHARED_POSITIONS_MIN, frequency};
use super::prefix_docs::WordsAndNumbers;
use super::reader::Segment;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::by_distance::{ByDistance, DISTANCE_MAX, NearSets, near_sets, unite_near};
use crate::postings::by_field::{ByField, ByFieldBuilder};
use crate::postings::position_docs::{PositionDocs, PositionDocsBuilder};
use crate::postings::side::Side;
use crate::store::buckets::{BUCKETS, EXACT_POSITIONS};
use crate::store::{Beside, DELETED, DocidSet, Initial, InitialPosting, InitialPostings, Initials, Words};
use crate::threads::in_parallel;

impl Segment<'_> {
    /// The stored initials of the segment, if it has them and `prefix` is a single initial.
    pub(crate) fn initials(&self, prefix: &str) -> Option<(&Initials, Initial)> {
        Some((self.view.initials()?, Initial::of(prefix)?))
    }

    /// As [`Self::initials`], for a side.
    pub(super) fn initial_of(&self, side: &Side) -> Option<(&Initials, Initial)> {
        match side {
            Side::Prefix(prefix) => self.initials(prefix),
            Side::Word(_) => None,
        }
    }

    /// Live documents of words with an initial, numbers apart from other words, by field.
    pub(super) fn initial_docs(&self, (initials, initial): (&Initials, Initial)) -> Result<WordsAndNumbers> {
        if let Some(postings) = self.view.initial_postings() {
            let (mut words, mut numbers) = (ByFieldBuilder::default(), ByFieldBuilder::default());
            self.each_posting(postings, initial, |posting| {
                let docs = if posting.is_number { &mut numbers } else { &mut words };
                *docs.of(posting.field, RoaringBitmap::new) |= posting.docs;
            })?;
            return Ok([words.finish(|docs| docs), numbers.finish(|docs| docs)]);
        }
        let (mut words, mut numbers) = (ByFieldBuilder::default(), ByFieldBuilder::default());
        let empty = || self.view.docid_set();
        self.each_live(initials, |docid, field, attribute| {
            let has = attribute.have(initial);
            if has.words {
                words.of(field, empty).add(docid);
            }
            if has.numbers {
                numbers.of(field, empty).add(docid);
            }
        })?;
        Ok([words.finish(DocidSet::finish), numbers.finish(DocidSet::finish)])
    }

    /// Live documents by position of words with an initial, by field: all positions below
    /// [`EXACT_POSITIONS`], and the first one beyond them.
    pub(super) fn initial_positions(
        &self,
        (initials, initial): (&Initials, Initial),
    ) -> Result<ByField<PositionDocs>> {
        if let Some(postings) = self.view.initial_postings() {
            let mut found: ByFieldBuilder<PositionDocs> = ByFieldBuilder::default();
            self.each_posting(postings, initial, |posting| {
                found.of(posting.field, PositionDocs::default).unite(BUCKETS[posting.bucket], posting.docs);
            })?;
            return Ok(found.finish(|positions| positions));
        }
        let mut sets: ByFieldBuilder<PositionDocsBuilder> = ByFieldBuilder::default();
        let mut positions = Vec::new();
        self.each_live(initials, |docid, field, attribute| {
            attribute.positions(initial, EXACT_POSITIONS, &mut positions);
            if !positions.is_empty() {
                let sets = sets.of(field, PositionDocsBuilder::default);
                sets.add(docid, &positions, || self.view.docid_set());
            }
        })?;
        Ok(sets.finish(PositionDocsBuilder::finish))
    }

    /// Calls `visit` with docid, attribute and positions of words with an initial, for each document of
    /// `universe`.
    pub(crate) fn visit_initial(
        &self,
        (initials, initial): (&Initials, Initial),
        universe: &RoaringBitmap,
        mut visit: impl FnMut(u32, FieldId, &[u32]),
    ) -> Result<()> {
        let (mut cursor, mut positions) = (initials.cursor(), Vec::new());
        for doc in self.view.segment_docids(universe) {
            if self.budget.stops() {
                break;
            }
            cursor.each(doc, |field, attribute| {
                attribute.positions(initial, u32::MAX, &mut positions);
                if !positions.is_empty() {
                    visit(self.view.docids[doc as usize], field, &positions);
                }
            })?;
        }
        Ok(())
    }

    /// Documents where a word of `lists` stands before (if `first`) or after a word with an initial, by least
    /// distance in a field.
    pub(super) fn near_initial(
        &self,
        lists: &[ListRange],
        (initials, initial): (&Initials, Initial),
        first: bool,
    ) -> Result<ByField<ByDistance>> {
        let beside = if first { Beside::After } else { Beside::Before };
        let parts = self.parts(if frequency(lists) < SHARED_POSITIONS_MIN { 1 } else { self.threads });
        let parts = in_parallel(&parts, |part| {
            let mut sets: ByFieldBuilder<NearSets> = ByFieldBuilder::default();
            let (mut reader, mut cursor) = (self.reader(), initials.cursor());
            let mut outcome = Ok(());
            let wanted = |doc: DocId| self.view.docids[doc as usize] != DELETED;
            for list in lists {
                let sets = sets.of(list.field, || near_sets(self.view));
                reader.each_doc_with_positions(
                    &list.info,
                    part,
                    self.positions,
                    wanted,
                    |doc, positions| {
                        let distance = match cursor.attribute(doc, list.field) {
                            Ok(Some(words)) => {
                                words.distance(initial, positions, beside, u32::from(DISTANCE_MAX))
                            }
                            Ok(None) => None,
                            Err(error) => {
                                outcome = Err(error);
                                None
                            }
                        };
                        if let Some(distance) = distance {
                            sets[distance as usize - 1].add(self.view.docids[doc as usize]);
                        }
                    },
                )?;
            }
            outcome?;
            Ok(sets.finish(|sets| sets.map(DocidSet::finish)))
        });
        Ok(unite_near(parts.into_iter().collect::<Result<Vec<_>>>()?))
    }

    /// The documents of the segment as `count` ranges of equal length.
    fn parts(&self, count: usize) -> Vec<Range<DocId>> {
        let documents = self.view.docids.len() as DocId;
        let length = documents.div_ceil(count as DocId).max(1);
        (0..documents).step_by(length as usize).map(|start| start..(start + length).min(documents)).collect()
    }

    /// Calls `take` with docid, attribute and initials for each attribute of each live document.
    fn each_live(&self, initials: &Initials, mut take: impl FnMut(u32, FieldId, Words<'_>)) -> Result<()> {
        initials.each(|doc, field, words| {
            let docid = self.view.docids[doc as usize];
            if docid != DELETED && !self.budget.stops_after(1) {
                take(docid, field, words);
            }
        })
    }

    /// Calls `take` with the postings of an initial, deleted documents left out.
    fn each_posting(
        &self,
        postings: &InitialPostings,
        initial: Initial,
        mut take: impl FnMut(InitialPosting),
    ) -> Result<()> {
        postings.each(initial, |mut posting| {
            if posting.bucket < BUCKETS.len() && !self.budget.stops_after(posting.docs.len() as usize) {
                if self.view.has_deletes() {
                    posting.docs &= &*self.view.live;
                }
                take(posting);
            }
        })
    }
}
