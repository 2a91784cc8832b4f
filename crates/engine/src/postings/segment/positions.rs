//! Which documents of a segment hold a word, or words with one beginning, at which positions?

use std::borrow::Cow;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::cache::{Cached, Key};
use super::lists::SHARED_POSITIONS_MIN;
use super::reader::Segment;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::by_field::{ByField, ByFieldBuilder};
use crate::postings::position_docs::{PositionDocs, PositionDocsBuilder, positions_bytes, unite_positions};
use crate::postings::side::Side;

impl Segment<'_> {
    /// Live documents by position of a word.
    pub(crate) fn word_positions(
        &self,
        text: &str,
        mut take: impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        self.each_position_set(&*self.cached_word_positions(text)?, &mut take);
        Ok(())
    }

    /// What [`Segment::word_positions`] speaks of, deleted documents included.
    pub(crate) fn cached_word_positions(&self, text: &str) -> Result<Arc<Cached<ByField<PositionDocs>>>> {
        self.cached(&self.cache.positions, Key::AnyField(text.into()), positions_bytes, || {
            self.positions_of(&Side::Word(text.into()))
        })
    }

    /// Live documents by position of all words that begin with `prefix`; unless `all` is asked for, of those that lie
    /// further on than is told apart perhaps only the first of an attribute.
    pub(crate) fn prefix_positions(
        &self,
        prefix: &str,
        all: bool,
        mut take: impl FnMut(FieldId, u32, Cow<'_, RoaringBitmap>),
    ) -> Result<()> {
        self.each_position_set(&*self.cached_prefix_positions(prefix, all)?, &mut take);
        Ok(())
    }

    /// What [`Segment::prefix_positions`] speaks of, deleted documents included.
    pub(crate) fn cached_prefix_positions(
        &self,
        prefix: &str,
        all: bool,
    ) -> Result<Arc<Cached<ByField<PositionDocs>>>> {
        let key = if all { Key::Prefix(prefix.into()) } else { Key::FirstOfPrefix(prefix.into()) };
        self.cached(&self.cache.positions, key, positions_bytes, || match self.initials(prefix) {
            Some(initial) if !all => self.initial_positions(initial),
            _ => self.positions_of(&Side::Prefix(prefix.into())),
        })
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
