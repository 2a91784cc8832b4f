//! Documents by the positions of words, in the buckets that ranking rules compare.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

use super::by_field::ByField;
use crate::fields::FieldId;
use crate::store::buckets::{BUCKETS, bucket_of};
use crate::store::{DocidSet, bitmap_bytes};

/// Documents by the bucketed positions of a word, or of all words with a prefix, in any attribute.
#[derive(Debug, Default)]
pub struct PositionDocs {
    pub(super) buckets: Vec<(u32, RoaringBitmap)>,
}

impl PositionDocs {
    /// Returns the bucketed positions, ascending, with the documents that have a word there.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &RoaringBitmap)> {
        self.buckets.iter().map(|(position, docs)| (*position, docs))
    }

    /// Returns the documents that have a word at a bucketed position.
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

    /// Returns the bucketed positions, ascending, with their documents.
    pub(super) fn into_buckets(self) -> Vec<(u32, RoaringBitmap)> {
        self.buckets
    }

    pub(super) fn bytes(&self) -> usize {
        self.buckets.iter().map(|(_, docs)| bitmap_bytes(docs) + size_of::<u32>()).sum()
    }
}

/// Collects [`PositionDocs`] document by document.
#[derive(Default)]
pub(super) struct PositionDocsBuilder {
    /// By index of [`BUCKETS`].
    sets: Vec<Option<DocidSet>>,
}

impl PositionDocsBuilder {
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

/// Unites the positions that several threads read, by field.
pub(super) fn unite_positions(parts: Vec<ByField<PositionDocs>>) -> ByField<PositionDocs> {
    let mut found: BTreeMap<FieldId, PositionDocs> = BTreeMap::new();
    for (field, positions) in parts.into_iter().flatten() {
        let found = found.entry(field).or_default();
        positions.into_buckets().into_iter().for_each(|(bucket, docs)| found.unite(bucket, docs));
    }
    found.into_iter().collect()
}

pub(super) fn positions_bytes(fields: &ByField<PositionDocs>) -> usize {
    fields.iter().map(|(_, positions)| positions.bytes()).sum()
}
