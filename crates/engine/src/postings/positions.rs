//! Which documents hold a word where? By positions as ranking rules see them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::position_docs::PositionDocs;
use super::reader::Postings;
use super::segment::SHARED_POSITIONS_MIN;
use super::word::Word;
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::buckets::EXACT_POSITIONS;

/// Documents of which is told all at once where they have an initial in the time in which one is looked up. A guess on
/// the safe side: looking up takes 0.2 µs, telling of a million a few milliseconds.
const LOOK_UP_COST: u64 = 64;

/// Postings of a list read from end to end in the time in which the positions of one document are looked up.
const READ_COST: u64 = 16;

/// Words in fewer documents are read anew each time.
const CACHED_FREQUENCY_MIN: u64 = 256;

impl Postings {
    /// Positions of a frequent word, worked out once; None while reading its postings is as quick.
    pub fn word_positions(&self, word: &Word, universe: &RoaringBitmap) -> Result<Option<Arc<PositionDocs>>> {
        let frequency = word.frequency_bound();
        if frequency < CACHED_FREQUENCY_MIN {
            return Ok(None);
        }
        let key: Box<str> = format!("={}", word.text).into();
        if let Some(known) = self.cache.positions.get(&key) {
            return Ok(Some(known));
        }
        let read = self.cache.positions_read.count(&key, universe.len());
        if read * READ_COST < frequency {
            return Ok(None);
        }
        if frequency >= SHARED_POSITIONS_MIN {
            self.share_segments(|segment| segment.cached_word_positions(&word.text).map(|_| ()))?;
        }
        let found = self.united_positions(|take| {
            self.segments().try_for_each(|segment| segment.word_positions(&word.text, &mut *take))
        })?;
        self.cache_value(&self.cache.positions, key, Arc::clone(&found), found.bytes());
        Ok(Some(found))
    }

    /// Positions of all words that begin with `prefix`, worked out once. Meant for short beginnings.
    ///
    /// Enough of them to tell how near any is to the position `expected`: an attribute that has one further on than
    /// that may have more beyond it that are left out. None if looking into the documents of `universe` one by one, see
    /// [`Postings::visit_prefix`], is as quick.
    pub fn prefix_positions(
        &self,
        prefix: &str,
        expected: u32,
        universe: &RoaringBitmap,
    ) -> Result<Option<Arc<PositionDocs>>> {
        // Up to there one answer serves all that may be expected.
        let all = expected >= EXACT_POSITIONS;
        let key: Box<str> = if all { format!("{prefix}**") } else { format!("{prefix}*") }.into();
        if let Some(known) = self.cache.positions.get(&key) {
            return Ok(Some(known));
        }
        let read_from_initials = self.segments().all(|segment| segment.initials(prefix).is_some());
        if read_from_initials && universe.len() * LOOK_UP_COST < self.snapshot.documents().len() {
            return Ok(None);
        }
        self.share_segments(|segment| segment.cached_prefix_positions(prefix, all).map(|_| ()))?;
        let found = self.united_positions(|take| {
            self.segments().try_for_each(|segment| segment.prefix_positions(prefix, all, &mut *take))
        })?;
        self.cache_value(&self.cache.positions, key, Arc::clone(&found), found.bytes());
        Ok(Some(found))
    }

    /// Calls `visit(docid, field, ascending positions)` for the words that begin with `prefix` in each searchable
    /// attribute of each document of `universe`, in no particular order.
    pub fn visit_prefix(
        &self,
        prefix: &str,
        universe: &RoaringBitmap,
        mut visit: impl FnMut(u32, FieldId, &[u32]),
    ) -> Result<()> {
        for segment in self.segments() {
            if let Some(initial) = segment.initials(prefix) {
                segment.visit_initial(initial, universe, |docid, field, positions| {
                    if self.searchable.weight(field).is_some() {
                        visit(docid, field, positions);
                    }
                })?;
            }
        }
        Ok(())
    }

    /// Unites what segments say of positions in searchable fields.
    fn united_positions(
        &self,
        each: impl FnOnce(&mut dyn FnMut(FieldId, u32, Cow<'_, RoaringBitmap>)) -> Result<()>,
    ) -> Result<Arc<PositionDocs>> {
        let mut buckets: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        each(&mut |field, position, docs| {
            if self.searchable.weight(field).is_some() {
                *buckets.entry(position).or_default() |= &*docs;
            }
        })?;
        Ok(Arc::new(PositionDocs { buckets: buckets.into_iter().collect() }))
    }
}
