//! Finds the documents of a segment by the positions of a word, or of all words with a prefix.

use std::borrow::Cow;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::cache::{Cached, SegmentPositions};
use super::lists::SHARED_POSITIONS_MIN;
use super::reader::Segment;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::by_field::{ByField, ByFieldBuilder};
use crate::postings::cache::PositionsOf;
use crate::postings::position_docs::{PositionDocs, PositionDocsBuilder, unite_positions};
use crate::postings::side::Side;

impl Segment<'_> {
    /// Calls `take` with the live documents of a word by field and bucketed position.
    pub(crate) fn word_positions(
        &self,
        text: &str,
        mut take: impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        self.each_position_set(&*self.cached_word_positions(text)?, &mut take);
        Ok(())
    }

    /// Returns the cached value of [`Segment::word_positions`], deleted documents included.
    pub(crate) fn cached_word_positions(&self, text: &str) -> Result<Arc<Cached<ByField<PositionDocs>>>> {
        let of = PositionsOf::Word(text);
        self.cached::<SegmentPositions, _>(
            &of,
            || of.to_owned(),
            || self.positions_of(&Side::Word(text.into())),
        )
    }

    /// Calls `take` with the live documents of all words with the prefix `prefix`, by field and bucketed position.
    /// Unless `all` is set, positions of a field from `EXACT_POSITIONS` on may be left out, except the first of them.
    pub(crate) fn prefix_positions(
        &self,
        prefix: &str,
        all: bool,
        mut take: impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        self.each_position_set(&*self.cached_prefix_positions(prefix, all)?, &mut take);
        Ok(())
    }

    /// Returns the cached value of [`Segment::prefix_positions`], deleted documents included.
    pub(crate) fn cached_prefix_positions(
        &self,
        prefix: &str,
        all: bool,
    ) -> Result<Arc<Cached<ByField<PositionDocs>>>> {
        let of = if all { PositionsOf::Prefix(prefix) } else { PositionsOf::FirstOfPrefix(prefix) };
        self.cached::<SegmentPositions, _>(
            &of,
            || of.to_owned(),
            || match self.short_prefix(prefix) {
                Some(short) if !all => self.short_prefix_positions(short),
                _ => self.positions_of(&Side::Prefix(prefix.into())),
            },
        )
    }

    fn positions_of(&self, side: &Side) -> Result<ByField<PositionDocs>> {
        let parts = self.read_lists(&self.lists(side)?, SHARED_POSITIONS_MIN, |lists| {
            let mut sets: ByFieldBuilder<PositionDocsBuilder> = ByFieldBuilder::default();
            let mut reader = self.reader();
            for list in lists {
                let sets = sets.of(list.field, PositionDocsBuilder::default);
                self.each_docid_with_positions(&mut reader, list, |docid, positions| {
                    sets.add(docid, positions, || self.view.docid_set());
                })?;
            }
            Ok(sets.finish(PositionDocsBuilder::finish))
        })?;
        Ok(unite_positions(parts))
    }

    fn each_position_set(
        &self,
        cached: &Cached<ByField<PositionDocs>>,
        take: &mut impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) {
        for (field, sets) in &cached.value {
            for (position, docs) in sets.iter() {
                take(*field, position, self.mask(cached.deleted, docs));
            }
        }
    }
}
