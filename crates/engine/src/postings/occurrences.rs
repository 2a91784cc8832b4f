//! Where in some documents do some words stand, and how near are others to them?

use roaring::RoaringBitmap;

use super::by_distance::DISTANCE_MAX;
use crate::fields::FieldId;

/// Places of words, ordered by document, attribute and position.
#[derive(Debug, Default, Clone)]
pub struct Occurrences {
    /// docid ‖ field ‖ position, packed so that numbers compare as places do.
    packed: Vec<u64>,
}

impl Occurrences {
    /// Orders places that were pushed in any order and may repeat.
    pub(super) fn new(mut packed: Vec<u64>) -> Self {
        // Lists of words come one after another, each in order: runs a stable sort merges.
        if !packed.is_sorted() {
            packed.sort();
        }
        packed.dedup();
        Self { packed }
    }

    /// docid, field and position of each, in any order; positions below 65536.
    pub fn at(occurrences: impl IntoIterator<Item = (u32, FieldId, u32)>) -> Self {
        Self::new(
            occurrences.into_iter().map(|(docid, field, position)| pack(docid, field, position)).collect(),
        )
    }

    /// All places of both.
    pub fn merged(mut self, other: &Self) -> Self {
        if self.packed.is_empty() {
            return other.clone();
        }
        self.packed.extend_from_slice(&other.packed);
        Self::new(self.packed)
    }

    /// How many places these are.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// docid, field and position of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, FieldId, u32)> + '_ {
        self.packed.iter().map(|&occurrence| unpack(occurrence))
    }

    /// Those in documents of `universe`.
    pub fn within(&self, universe: &RoaringBitmap) -> Self {
        let mut found = Vec::new();
        self.each_within(universe, |occurrences| found.extend_from_slice(occurrences));
        Self { packed: found }
    }

    /// Calls `visit(docid, field, positions)` for each of those in documents of `universe`, one position at a time.
    pub fn visit_within(&self, universe: &RoaringBitmap, mut visit: impl FnMut(u32, FieldId, &[u32])) {
        self.each_within(universe, |occurrences| {
            for (docid, field, position) in occurrences.iter().map(|&occurrence| unpack(occurrence)) {
                visit(docid, field, &[position]);
            }
        });
    }

    /// Calls `take` with the places in each document of `universe`.
    fn each_within(&self, universe: &RoaringBitmap, mut take: impl FnMut(&[u64])) {
        let of_one_document = |a: &u64, b: &u64| a >> 32 == b >> 32;
        if (self.packed.len() as u64) < universe.len() {
            let documents = self.packed.chunk_by(of_one_document);
            return documents
                .filter(|occurrences| universe.contains(unpack(occurrences[0]).0))
                .for_each(take);
        }
        let mut left = self.packed.as_slice();
        for docid in universe {
            // Few documents skip over most places, so the next one is looked for in growing steps.
            let starts_before = |occurrence: &u64| *occurrence < u64::from(docid) << 32;
            let mut reach = 1;
            while left.get(reach).is_some_and(starts_before) {
                reach *= 2;
            }
            let start = left[..left.len().min(reach + 1)].partition_point(starts_before);
            left = &left[start..];
            let count = left.iter().take_while(|occurrence| unpack(**occurrence).0 == docid).count();
            if count > 0 {
                take(&left[..count]);
            }
            left = &left[count..];
            if left.is_empty() {
                break;
            }
        }
    }

    /// What they take in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(self.packed.as_slice())
    }

    pub(super) fn into_packed(self) -> Vec<u64> {
        self.packed
    }

    pub(super) fn packed(&self) -> &[u64] {
        &self.packed
    }

    /// Documents where some place of `right` follows one of `self` in the same attribute, with the least
    /// distance (1 to [`DISTANCE_MAX`]) between two such places, by ascending docid.
    pub fn distances_to(&self, right: &Self) -> Vec<(u32, u8)> {
        let mut nearest: Vec<(u32, u8)> = Vec::new();
        self.each_distance_to(right, |docid, _, distance| match nearest.last_mut() {
            Some((last, least)) if *last == docid => *least = distance.min(*least),
            _ => nearest.push((docid, distance)),
        });
        nearest
    }

    /// Calls `take` with documents, attributes and distances (1 to [`DISTANCE_MAX`]) from a place of `self`
    /// to one of `right`; a document and attribute may come several times, but once with its least.
    pub(super) fn each_distance_to(&self, right: &Self, mut take: impl FnMut(u32, FieldId, u8)) {
        let mut lefts = self.packed().iter().copied().peekable();
        let mut before = None;
        for &occurrence in right.packed() {
            while let Some(left) = lefts.next_if(|&left| left < occurrence) {
                before = Some(left);
            }
            let Some(left) = before else { continue };
            // Places of one attribute of one document differ in their lowest 16 bits alone.
            let same_attribute = left >> 16 == occurrence >> 16;
            let distance = occurrence - left;
            if same_attribute && distance <= u64::from(DISTANCE_MAX) {
                take((occurrence >> 32) as u32, (occurrence >> 16) as FieldId, distance as u8);
            }
        }
    }
}

pub(super) fn pack(docid: u32, field: FieldId, position: u32) -> u64 {
    u64::from(docid) << 32 | u64::from(field) << 16 | u64::from(position & 0xffff)
}

pub(super) fn unpack(occurrence: u64) -> (u32, FieldId, u32) {
    ((occurrence >> 32) as u32, (occurrence >> 16) as FieldId, occurrence as u32 & 0xffff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_place_survives_packing() {
        for occurrence in [(0, 0, 0), (7, 3, 15), (u32::MAX - 1, u16::MAX, 65_535)] {
            assert_eq!(unpack(pack(occurrence.0, occurrence.1, occurrence.2)), occurrence);
        }
    }

    /// The distance of every pair, looked up one by one.
    fn slowly(left: &[(u8, u8, u8)], right: &[(u8, u8, u8)]) -> Vec<(u32, u8)> {
        let mut found = std::collections::BTreeMap::new();
        for l in left {
            for r in right {
                let near = l.0 == r.0 && l.1 == r.1 && r.2 > l.2 && r.2 - l.2 <= DISTANCE_MAX;
                if near {
                    let least = found.entry(u32::from(l.0)).or_insert(DISTANCE_MAX);
                    *least = (*least).min(r.2 - l.2);
                }
            }
        }
        found.into_iter().collect()
    }

    fn occurrences(places: &[(u8, u8, u8)]) -> Occurrences {
        Occurrences::at(
            places
                .iter()
                .map(|&(docid, field, position)| (u32::from(docid), u16::from(field), u32::from(position))),
        )
    }

    proptest! {
        #[test]
        fn the_least_distance_is_found(
            left in proptest::collection::vec((0u8..4, 0u8..3, 0u8..20), 0..30),
            right in proptest::collection::vec((0u8..4, 0u8..3, 0u8..20), 0..30),
        ) {
            let fast = occurrences(&left).distances_to(&occurrences(&right));
            prop_assert_eq!(fast, slowly(&left, &right));
        }
    }
}
