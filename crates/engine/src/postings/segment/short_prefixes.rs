//! Documents of a segment by one-letter prefix, and the positions of the words with it.
//!
//! Reads the short-prefix lists of the segment instead of the thousands of postings lists of those words.

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
use crate::store::{
    DELETED, DocidSet, ForwardLists, ShortPrefix, ShortPrefixPosting, ShortPrefixPostings, WordSide, Words,
};
use crate::threads::in_parallel;

impl Segment<'_> {
    /// Returns the forward lists of the segment and the short prefix. `None` if the segment has no lists or `prefix` is
    /// not a single letter with a code.
    pub(crate) fn short_prefix(&self, prefix: &str) -> Option<(&ForwardLists, ShortPrefix)> {
        Some((self.view.forward_lists()?, ShortPrefix::of(prefix)?))
    }

    /// As [`Self::short_prefix`], for a side.
    pub(super) fn short_prefix_of(&self, side: &Side) -> Option<(&ForwardLists, ShortPrefix)> {
        match side {
            Side::Prefix(prefix) => self.short_prefix(prefix),
            Side::Word(_) => None,
        }
    }

    /// Returns the live documents of words with a short prefix by field: numbers separately from other words.
    pub(super) fn short_prefix_docs(
        &self,
        (forward, prefix): (&ForwardLists, ShortPrefix),
    ) -> Result<WordsAndNumbers> {
        if let Some(postings) = self.view.short_prefix_postings() {
            let (mut words, mut numbers) = (ByFieldBuilder::default(), ByFieldBuilder::default());
            self.each_posting(postings, prefix, |posting| {
                let docs = if posting.is_number { &mut numbers } else { &mut words };
                *docs.of(posting.field, RoaringBitmap::new) |= posting.docs;
            })?;
            return Ok([words.finish(|docs| docs), numbers.finish(|docs| docs)]);
        }
        let (mut words, mut numbers) = (ByFieldBuilder::default(), ByFieldBuilder::default());
        let empty = || self.view.docid_set();
        self.each_live(forward, |docid, field, attribute| {
            let has = attribute.kinds(prefix);
            if has.words {
                words.of(field, empty).add(docid);
            }
            if has.numbers {
                numbers.of(field, empty).add(docid);
            }
        })?;
        Ok([words.finish(DocidSet::finish), numbers.finish(DocidSet::finish)])
    }

    /// Returns the live documents by position of words with a short prefix, by field: all positions below
    /// [`EXACT_POSITIONS`], and the first position at or after it.
    pub(super) fn short_prefix_positions(
        &self,
        (forward, prefix): (&ForwardLists, ShortPrefix),
    ) -> Result<ByField<PositionDocs>> {
        if let Some(postings) = self.view.short_prefix_postings() {
            let mut found: ByFieldBuilder<PositionDocs> = ByFieldBuilder::default();
            self.each_posting(postings, prefix, |posting| {
                found.of(posting.field, PositionDocs::default).unite(BUCKETS[posting.bucket], posting.docs);
            })?;
            return Ok(found.finish(|positions| positions));
        }
        let mut sets: ByFieldBuilder<PositionDocsBuilder> = ByFieldBuilder::default();
        let mut positions = Vec::new();
        self.each_live(forward, |docid, field, attribute| {
            attribute.positions(prefix, EXACT_POSITIONS, &mut positions);
            if !positions.is_empty() {
                let sets = sets.of(field, PositionDocsBuilder::default);
                sets.add(docid, &positions, || self.view.docid_set());
            }
        })?;
        Ok(sets.finish(PositionDocsBuilder::finish))
    }

    /// Calls `visit` with docid, attribute and positions of words with a short prefix, for each document of `universe`.
    pub(crate) fn visit_short_prefix(
        &self,
        (forward, prefix): (&ForwardLists, ShortPrefix),
        universe: &RoaringBitmap,
        mut visit: impl FnMut(u32, FieldId, &[u32]),
    ) -> Result<()> {
        let (mut cursor, mut positions) = (forward.cursor(), Vec::new());
        for doc in self.view.segment_docids(universe) {
            if self.budget.stops() {
                break;
            }
            cursor.each(doc, |field, attribute| {
                attribute.positions(prefix, u32::MAX, &mut positions);
                if !positions.is_empty() {
                    visit(self.view.docids[doc as usize], field, &positions);
                }
            })?;
        }
        Ok(())
    }

    /// Returns the documents where a word of `lists` is before (if `first`) or after a word with a short prefix, by
    /// least distance in a field.
    pub(super) fn near_short_prefix(
        &self,
        lists: &[ListRange],
        (forward, prefix): (&ForwardLists, ShortPrefix),
        first: bool,
    ) -> Result<ByField<ByDistance>> {
        let side = if first { WordSide::After } else { WordSide::Before };
        let parts = self.parts(if frequency(lists) < SHARED_POSITIONS_MIN { 1 } else { self.threads });
        let parts = in_parallel(&parts, |part| {
            let mut sets: ByFieldBuilder<NearSets> = ByFieldBuilder::default();
            let (mut reader, mut cursor) = (self.reader(), forward.cursor());
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
                                words.distance(prefix, positions, side, u32::from(DISTANCE_MAX))
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

    /// Splits the documents of the segment into `count` ranges of equal length.
    fn parts(&self, count: usize) -> Vec<Range<DocId>> {
        let documents = self.view.docids.len() as DocId;
        let length = documents.div_ceil(count as DocId).max(1);
        (0..documents).step_by(length as usize).map(|start| start..(start + length).min(documents)).collect()
    }

    /// Calls `take` with docid, attribute and first letters for each attribute of each live document.
    fn each_live(&self, forward: &ForwardLists, mut take: impl FnMut(u32, FieldId, Words<'_>)) -> Result<()> {
        forward.each(|doc, field, words| {
            let docid = self.view.docids[doc as usize];
            if docid != DELETED && !self.budget.stops_after(1) {
                take(docid, field, words);
            }
        })
    }

    /// Calls `take` with the postings of a short prefix, without deleted documents.
    fn each_posting(
        &self,
        postings: &ShortPrefixPostings,
        prefix: ShortPrefix,
        mut take: impl FnMut(ShortPrefixPosting),
    ) -> Result<()> {
        postings.each(prefix, |mut posting| {
            if posting.bucket < BUCKETS.len() && !self.budget.stops_after(posting.docs.len() as usize) {
                if self.view.has_deletes() {
                    posting.docs &= &*self.view.live;
                }
                take(posting);
            }
        })
    }
}
