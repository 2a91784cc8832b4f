//! Finds documents by the positions of words, in the buckets that ranking rules compare.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::cache::{PositionReads, Positions, PositionsOf};
use super::position_docs::PositionDocs;
use super::reader::Postings;
use super::segment::SHARED_POSITIONS_MIN;
use super::word::Word;
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::buckets::EXACT_POSITIONS;

/// Documents whose short-prefix lists are read sequentially in the time of looking up one document. A low estimate: a
/// look-up takes 0.2 µs, reading a million documents a few milliseconds.
const LOOK_UP_COST: u64 = 64;

/// Postings that are read sequentially in the time of looking up the positions of one document.
const READ_COST: u64 = 16;

/// Positions of words are not cached if fewer documents have them.
const CACHED_FREQUENCY_MIN: u64 = 256;

impl Postings {
    /// Returns the positions of a frequent word, computed once and cached. `None` until the reads of documents so far,
    /// including those of `universe`, have cost as much.
    pub fn word_positions(&self, word: &Word, universe: &RoaringBitmap) -> Result<Option<Arc<PositionDocs>>> {
        let frequency = word.frequency_bound();
        if frequency < CACHED_FREQUENCY_MIN {
            return Ok(None);
        }
        let of = PositionsOf::Word(&*word.text);
        if let Some(known) = self.cache().get::<Positions>(&of) {
            return Ok(Some(known));
        }
        let read = self.add::<PositionReads>(&*word.text, || word.text.clone(), universe.len());
        if read * READ_COST < frequency {
            return Ok(None);
        }
        if frequency >= SHARED_POSITIONS_MIN {
            self.share_segments(|segment| segment.cached_word_positions(&word.text).map(|_| ()))?;
        }
        let found = self.united_positions(|take| {
            self.segments().try_for_each(|segment| segment.word_positions(&word.text, &mut *take))
        })?;
        Ok(Some(self.insert::<Positions>(of.to_owned(), found)))
    }

    /// Returns the positions of all words with the prefix `prefix`, computed once and cached. Meant for short prefixes.
    ///
    /// They are sufficient for the least distance to the position `expected`: positions of an attribute beyond it may
    /// be left out, except the first one. `None` if looking up the documents of `universe` one by one with
    /// [`Postings::visit_prefix`] is faster.
    pub fn prefix_positions(
        &self,
        prefix: &str,
        expected: u32,
        universe: &RoaringBitmap,
    ) -> Result<Option<Arc<PositionDocs>>> {
        // Below [`EXACT_POSITIONS`], one result serves all expected positions.
        let all = expected >= EXACT_POSITIONS;
        let of = if all { PositionsOf::Prefix(prefix) } else { PositionsOf::FirstOfPrefix(prefix) };
        if let Some(known) = self.cache().get::<Positions>(&of) {
            return Ok(Some(known));
        }
        let has_short_prefix_lists = self.segments().all(|segment| segment.short_prefix(prefix).is_some());
        if has_short_prefix_lists && universe.len() * LOOK_UP_COST < self.snapshot.documents().len() {
            return Ok(None);
        }
        self.share_segments(|segment| segment.cached_prefix_positions(prefix, all).map(|_| ()))?;
        let found = self.united_positions(|take| {
            self.segments().try_for_each(|segment| segment.prefix_positions(prefix, all, &mut *take))
        })?;
        Ok(Some(self.insert::<Positions>(of.to_owned(), found)))
    }

    /// Calls `visit(docid, field, ascending positions)` for the words with the prefix `prefix` in each searchable
    /// attribute of each document of `universe`, in no particular order.
    pub fn visit_prefix(
        &self,
        prefix: &str,
        universe: &RoaringBitmap,
        mut visit: impl FnMut(u32, FieldId, &[u32]),
    ) -> Result<()> {
        for segment in self.segments() {
            if let Some(short) = segment.short_prefix(prefix) {
                segment.visit_short_prefix(short, universe, |docid, field, positions| {
                    if self.searchable.weight(field).is_some() {
                        visit(docid, field, positions);
                    }
                })?;
            }
        }
        Ok(())
    }

    /// The union of the positions that `each` reports for searchable fields.
    fn united_positions(
        &self,
        each: impl FnOnce(&mut dyn FnMut(FieldId, u32, Cow<'_, RoaringBitmap>)) -> Result<()>,
    ) -> Result<PositionDocs> {
        let mut buckets: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        each(&mut |field, position, docs| {
            if self.searchable.weight(field).is_some() {
                *buckets.entry(position).or_default() |= &*docs;
            }
        })?;
        Ok(PositionDocs { buckets: buckets.into_iter().collect() })
    }
}
