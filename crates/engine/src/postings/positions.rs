//! Positions as ranking rules see them: exact at the start of an attribute, coarser further on.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::{Postings, Word};
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::DocidSet;

/// Documents by the bucketed positions of a word, or of all words with one beginning, in any attribute.
#[derive(Debug, Default)]
pub struct PositionDocs {
    buckets: Vec<(u32, RoaringBitmap)>,
}

impl PositionDocs {
    /// Bucketed positions, ascending, with the documents that hold a word there.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &RoaringBitmap)> {
        self.buckets.iter().map(|(position, docs)| (*position, docs))
    }

    /// Documents that hold a word at a bucketed position.
    pub fn at(&self, bucket: u32) -> Option<&RoaringBitmap> {
        let at = self.buckets.binary_search_by_key(&bucket, |(position, _)| *position).ok()?;
        Some(&self.buckets[at].1)
    }

    /// Adds documents at a bucketed position.
    pub(super) fn unite(&mut self, bucket: u32, docs: RoaringBitmap) {
        match self.buckets.binary_search_by_key(&bucket, |(position, _)| *position) {
            Ok(at) => self.buckets[at].1 |= docs,
            Err(at) => self.buckets.insert(at, (bucket, docs)),
        }
    }

    /// Takes the sets out.
    pub(super) fn into_buckets(self) -> Vec<(u32, RoaringBitmap)> {
        self.buckets
    }

    pub(super) fn bytes(&self) -> usize {
        self.buckets.iter().map(|(_, docs)| docs.serialized_size() + size_of::<RoaringBitmap>()).sum()
    }
}

/// [`PositionDocs`] on their way.
#[derive(Default)]
pub(super) struct PositionSets {
    /// By [`BUCKETS`].
    sets: Vec<Option<DocidSet>>,
}

impl PositionSets {
    /// Adds the ascending positions of a document.
    pub(super) fn add(&mut self, docid: u32, positions: &[u32], empty: impl Fn() -> DocidSet) {
        let mut last = None;
        for &position in positions {
            let bucket = bucket_of(position);
            if last.replace(bucket) != Some(bucket) {
                if bucket >= self.sets.len() {
                    self.sets.resize_with(bucket + 1, || None);
                }
                self.sets[bucket].get_or_insert_with(&empty).add(docid);
            }
        }
    }

    pub(super) fn finish(self) -> PositionDocs {
        let sets = BUCKETS.into_iter().zip(self.sets);
        let found = sets.filter_map(|(bucket, set)| Some((bucket, set?.finish())));
        PositionDocs { buckets: found.collect() }
    }
}

/// Words in fewer documents are read anew each time.
const KEPT_FREQUENCY_MIN: u64 = 2048;

impl Postings {
    /// Positions of a frequent word, worked out once; None if reading its postings is as quick.
    pub fn word_positions(&self, word: &Word, universe: &RoaringBitmap) -> Result<Option<Arc<PositionDocs>>> {
        let frequency = word.frequency_bound();
        if frequency < KEPT_FREQUENCY_MIN {
            return Ok(None);
        }
        let key: Box<str> = format!("={}", word.text).into();
        if let Some(known) = self.cache.positions.get(&key) {
            return Ok(Some(known));
        }
        if universe.len() * 16 < frequency {
            return Ok(None);
        }
        let found = self.united_positions(|take| {
            self.segments().try_for_each(|segment| segment.word_positions(&word.text, &mut *take))
        })?;
        self.keep(&self.cache.positions, key, Arc::clone(&found), found.bytes());
        Ok(Some(found))
    }

    /// Positions of all words that begin with `prefix`, worked out once. Meant for short beginnings.
    pub fn prefix_positions(&self, prefix: &str) -> Result<Arc<PositionDocs>> {
        let key: Box<str> = format!("{prefix}*").into();
        if let Some(known) = self.cache.positions.get(&key) {
            return Ok(known);
        }
        let found = self.united_positions(|take| {
            self.segments().try_for_each(|segment| segment.prefix_positions(prefix, &mut *take))
        })?;
        self.keep(&self.cache.positions, key, Arc::clone(&found), found.bytes());
        Ok(found)
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

/// Bucketed positions there are: positions are below 65536.
const BUCKETS: [u32; 29] = {
    let mut buckets = [0; 29];
    let mut at = 0;
    while at < buckets.len() {
        buckets[at] = match at {
            0..16 => at as u32,
            16 => 24,
            _ => 1 << (at - 12),
        };
        at += 1;
    }
    buckets
};

/// Which of [`BUCKETS`] a position falls in.
fn bucket_of(position: u32) -> usize {
    match position {
        0..16 => position as usize,
        16..24 => 16,
        24..0x1_0000 => 12 + position.next_power_of_two().ilog2() as usize,
        _ => BUCKETS.len() - 1,
    }
}

/// The bucket a word position falls in. Source: search-semantics §3.3.
pub fn bucketed(position: u32) -> u32 {
    BUCKETS[bucket_of(position)]
}

#[cfg(test)]
mod tests {
    use super::bucketed;

    #[test]
    fn positions_grow_coarser_further_on() {
        for (position, bucket) in [
            (0, 0),
            (15, 15),
            (16, 24),
            (23, 24),
            (24, 32),
            (32, 32),
            (33, 64),
            (64, 64),
            (65, 128),
            (65_535, 65_536),
        ] {
            assert_eq!(bucketed(position), bucket, "{position}");
        }
    }
}
