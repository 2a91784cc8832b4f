//! Documents by the distance between two words in them.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

use super::by_field::ByField;
use crate::fields::FieldId;
use crate::store::{DocidSet, SegmentView, bitmap_bytes};

/// Words at a greater distance count as unrelated. Source: search §3.3.
pub const DISTANCE_MAX: u8 = 3;

/// Documents by the least distance from a word forward to another word in the same attribute. Index 0 is distance 1.
pub type ByDistance = [RoaringBitmap; DISTANCE_MAX as usize];

/// Converts documents with their least distances, given by ascending docid, to one bitmap per distance.
pub(super) fn by_distance(nearest: Vec<(u32, u8)>) -> ByDistance {
    let mut docids: [Vec<u32>; DISTANCE_MAX as usize] = Default::default();
    for (docid, distance) in nearest {
        docids[usize::from(distance) - 1].push(docid);
    }
    docids.map(|docids| docids.into_iter().collect())
}

/// Collects the documents of one field by distance.
pub(super) type NearSets = [DocidSet; DISTANCE_MAX as usize];

/// Unites the results of several threads.
pub(super) fn unite_near(parts: impl IntoIterator<Item = ByField<ByDistance>>) -> ByField<ByDistance> {
    let mut found: BTreeMap<FieldId, ByDistance> = BTreeMap::new();
    for (field, near) in parts.into_iter().flatten() {
        let found = found.entry(field).or_default();
        found.iter_mut().zip(near).for_each(|(found, docs)| *found |= docs);
    }
    found.into_iter().collect()
}

/// Creates empty sets for docids of the segment `view`.
pub(super) fn near_sets(view: &SegmentView) -> NearSets {
    std::array::from_fn(|_| view.docid_set())
}

pub(super) fn near_bytes(fields: &ByField<ByDistance>) -> usize {
    fields.iter().flat_map(|(_, near)| near).map(bitmap_bytes).sum()
}
