//! Occurrences of words, and the distances between them.

use roaring::RoaringBitmap;

use super::by_distance::DISTANCE_MAX;
use crate::fields::FieldId;

/// Occurrences of words, ordered by document, attribute and position.
#[derive(Debug, Default, Clone)]
pub struct Occurrences {
    /// docid ‖ field ‖ position in one integer, so that integers sort as occurrences do.
    packed: Vec<u64>,
}

impl Occurrences {
    /// Sorts packed occurrences, which may be unordered and repeated.
    pub(super) fn new(mut packed: Vec<u64>) -> Self {
        // Each list was read in order. A stable sort is fast on such sorted runs.
        if !packed.is_sorted() {
            packed.sort();
        }
        packed.dedup();
        Self { packed }
    }

    /// Creates occurrences from docids, fields and positions in any order; positions are below 65536.
    pub fn at(occurrences: impl IntoIterator<Item = (u32, FieldId, u32)>) -> Self {
        Self::new(
            occurrences.into_iter().map(|(docid, field, position)| pack(docid, field, position)).collect(),
        )
    }

    /// Returns the union of both.
    pub fn merged(mut self, other: &Self) -> Self {
        if self.packed.is_empty() {
            return other.clone();
        }
        self.packed.extend_from_slice(&other.packed);
        Self::new(self.packed)
    }

    /// Returns the number of occurrences.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Returns true if there are no occurrences.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Returns docid, field and position of each occurrence, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, FieldId, u32)> + '_ {
        self.packed.iter().map(|&occurrence| unpack(occurrence))
    }

    /// Returns the occurrences in documents of `universe`.
    pub fn within(&self, universe: &RoaringBitmap) -> Self {
        let mut found = Vec::new();
        self.each_within(universe, |occurrences| found.extend_from_slice(occurrences));
        Self { packed: found }
    }

    /// Calls `visit(docid, field, positions)` for each occurrence in documents of `universe`, with a single position
    /// each time.
    pub fn visit_within(&self, universe: &RoaringBitmap, mut visit: impl FnMut(u32, FieldId, &[u32])) {
        self.each_within(universe, |occurrences| {
            for (docid, field, position) in occurrences.iter().map(|&occurrence| unpack(occurrence)) {
                visit(docid, field, &[position]);
            }
        });
    }

    /// Calls `take` with the packed occurrences of each document of `universe`.
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
            // With few documents, most occurrences are skipped. So the search for the next document goes in growing
            // steps.
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

    /// Returns the size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.packed.as_slice())
    }

    pub(super) fn into_packed(self) -> Vec<u64> {
        self.packed
    }

    pub(super) fn packed(&self) -> &[u64] {
        &self.packed
    }

    /// Returns the documents where an occurrence of `right` follows one of `self` in the same attribute, with the least
    /// distance (1 to [`DISTANCE_MAX`]) of such occurrences, by ascending docid.
    pub fn distances_to(&self, right: &Self) -> Vec<(u32, u8)> {
        let mut nearest: Vec<(u32, u8)> = Vec::new();
        self.each_distance_to(right, |docid, _, distance| match nearest.last_mut() {
            Some((last, least)) if *last == docid => *least = distance.min(*least),
            _ => nearest.push((docid, distance)),
        });
        nearest
    }

    /// Calls `take` with documents, attributes and distances (1 to [`DISTANCE_MAX`]) from an occurrence of `self` to
    /// one of `right`. May repeat a document and attribute; its least distance is among the calls.
    pub fn each_distance_to(&self, right: &Self, mut take: impl FnMut(u32, FieldId, u8)) {
        let mut lefts = self.packed().iter().copied().peekable();
        let mut before = None;
        for &occurrence in right.packed() {
            while let Some(left) = lefts.next_if(|&left| left < occurrence) {
                before = Some(left);
            }
            let Some(left) = before else { continue };
            // Occurrences in the same attribute of a document differ only in their lowest 16 bits.
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

/// Packs the occurrences of a word in one attribute of a document.
pub(super) fn pack_all(docid: u32, field: FieldId, positions: &[u32]) -> impl Iterator<Item = u64> + '_ {
    positions.iter().map(move |&position| pack(docid, field, position))
}

pub(super) fn unpack(occurrence: u64) -> (u32, FieldId, u32) {
    ((occurrence >> 32) as u32, (occurrence >> 16) as FieldId, occurrence as u32 & 0xffff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_occurrence_is_unpacked_unchanged() {
        for occurrence in [(0, 0, 0), (7, 3, 15), (u32::MAX - 1, u16::MAX, 65_535)] {
            assert_eq!(unpack(pack(occurrence.0, occurrence.1, occurrence.2)), occurrence);
        }
    }

    /// Computes the least distance of each document from all pairs of occurrences.
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

    fn occurrences(triples: &[(u8, u8, u8)]) -> Occurrences {
        Occurrences::at(
            triples
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
