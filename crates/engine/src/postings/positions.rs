//! Positions as ranking rules see them: exact at the start of an attribute, coarser further on.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::{Postings, Prefix, Word};
use crate::error::Result;

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

    pub(super) fn bytes(&self) -> usize {
        self.buckets.iter().map(|(_, docs)| docs.serialized_size() + size_of::<RoaringBitmap>()).sum()
    }
}

/// Words in fewer documents are read anew each time.
const KEPT_FREQUENCY_MIN: u64 = 2048;

impl Postings {
    /// Positions of a frequent word, worked out once per commit; None if reading its postings is as quick.
    pub fn word_positions(&self, word: &Word, universe: &RoaringBitmap) -> Result<Option<Arc<PositionDocs>>> {
        let frequency = word.frequency_bound();
        let reads_much = frequency >= KEPT_FREQUENCY_MIN && universe.len() * 16 >= frequency;
        if !reads_much {
            return Ok(None);
        }
        self.kept_positions(&format!("={}", word.text), std::slice::from_ref(word)).map(Some)
    }

    /// Positions of all words with a short beginning, worked out once per commit.
    pub fn prefix_positions(&self, text: &str, prefix: &Prefix) -> Result<Arc<PositionDocs>> {
        self.kept_positions(&format!("{text}*"), &prefix.words)
    }

    fn kept_positions(&self, key: &str, words: &[Word]) -> Result<Arc<PositionDocs>> {
        let key: Box<str> = key.into();
        if let Some(known) = self.cache.positions.get(&key, PositionDocs::bytes) {
            return Ok(known);
        }
        let span = self.snapshot.documents().max().map_or(0, |max| max as usize + 1);
        let mut marks: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        self.visit_positions(words.iter(), self.snapshot.documents(), |docid, _, positions| {
            let mut last = None;
            for bucket in positions.iter().map(|&position| bucketed(position)) {
                if last.replace(bucket) != Some(bucket) {
                    let marks = marks.entry(bucket).or_insert_with(|| vec![0; span.div_ceil(64)]);
                    marks[docid as usize / 64] |= 1 << (docid % 64);
                }
            }
        })?;
        let buckets = marks.into_iter().map(|(bucket, marks)| (bucket, super::docsets::from_marks(&marks)));
        let found = Arc::new(PositionDocs { buckets: buckets.collect() });
        self.cache.positions.insert(key, Arc::clone(&found), found.bytes());
        Ok(found)
    }
}

/// The bucket a word position falls in. Source: search-semantics §3.3.
pub fn bucketed(position: u32) -> u32 {
    match position {
        0..16 => position,
        16..24 => 24,
        _ => position.next_power_of_two(),
    }
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
