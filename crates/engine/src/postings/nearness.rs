//! Do these words stand near one another, and in which order?

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::{FieldDocs, Occurrences, Orders, Postings, Reading, Side, Word};
use crate::error::Result;
use crate::fields::FieldId;
use crate::settings::ProximityPrecision;

/// Words further apart than this count as apart. Source: search §3.3.
pub const DISTANCE_MAX: u8 = 3;

/// Documents that hold both words, from which distances are worked out for the whole index and kept.
pub const NEAR_DOCUMENTS_MIN: u64 = 2048;

/// Documents read, from which it is looked at how many hold both words.
const READ_DOCUMENTS_MIN: u64 = 32;

/// What is kept of two words is worked out of their documents once one in so many of those was read.
const READ_SHARE: u64 = 4;

/// Documents by the least distance, 1 first, from one word forward to another in the same attribute.
pub type ByDistance = [RoaringBitmap; DISTANCE_MAX as usize];

impl Occurrences {
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
        let mut lefts = self.places().iter().copied().peekable();
        let mut before = None;
        for &place in right.places() {
            while let Some(left) = lefts.next_if(|&left| left < place) {
                before = Some(left);
            }
            let Some(left) = before else { continue };
            // Places of one attribute of one document differ in their lowest 16 bits alone.
            let same_attribute = left >> 16 == place >> 16;
            let distance = place - left;
            if same_attribute && distance <= u64::from(DISTANCE_MAX) {
                take((place >> 32) as u32, (place >> 16) as FieldId, distance as u8);
            }
        }
    }
}

impl Occurrences {
    /// Documents one attribute of which holds places of both.
    pub fn sharing_attribute_with(&self, other: &Self) -> RoaringBitmap {
        let attribute = |place: &u64| place >> 16;
        let mut others = other.places().iter().map(attribute).peekable();
        let shared = self.places().iter().map(attribute).filter(|&place| {
            while others.next_if(|&other| other < place).is_some() {}
            others.peek() == Some(&place)
        });
        shared.map(|place| (place >> 16) as u32).collect()
    }
}

impl Postings {
    /// Whether nearness means no more than sharing an attribute.
    pub fn nearness_is_by_attribute(&self) -> bool {
        self.snapshot.settings().proximity_precision == ProximityPrecision::ByAttribute
    }

    /// Documents of the index where `right` follows `left`: the first level a document is in tells its least
    /// distance. Worked out once; meant for frequent words. With [`Orders::Both`] the other order is soon known too.
    pub fn near_docs(&self, left: &Side, right: &Side, orders: Orders) -> Result<Arc<ByDistance>> {
        let key = (left.clone(), right.clone());
        if let Some(known) = self.cache.near.get(&key) {
            return Ok(known);
        }
        self.share_segments(|segment| segment.kept_near(left, right, orders).map(|_| ()))?;
        let mut near = ByDistance::default();
        for segment in self.segments() {
            segment.near(left, right, orders, |field, distance, docs| {
                if self.searchable.weight(field).is_some() {
                    near[distance] |= &*docs;
                }
            })?;
        }
        Ok(self.keep_near(key, near))
    }

    /// The same, if it is known, or quickly worked out beside what it took to read some of the documents that hold
    /// both: until now, and the `asked` ones of this time.
    pub fn near_docs_if_cheap(
        &self,
        left: &Side,
        right: &Side,
        orders: Orders,
        asked: u64,
    ) -> Result<Option<Arc<ByDistance>>> {
        let key = (left.clone(), right.clone());
        if let Some(known) = self.cache.near.get(&key) {
            return Ok(Some(known));
        }
        let read = self.cache.near_read.count(&key, asked);
        // How many hold both is looked at each time that number has doubled.
        if read < READ_DOCUMENTS_MIN || read.ilog2() == (read - asked).max(1).ilog2() {
            return Ok(None);
        }
        let both = self.docs_with_both(left, right)?;
        if both.len() > read * READ_SHARE {
            return Ok(None);
        }
        if both.len() >= NEAR_DOCUMENTS_MIN {
            return self.near_docs(left, right, orders).map(Some);
        }
        let (lefts, rights) = (self.side_occurrences(left, &both)?, self.side_occurrences(right, &both)?);
        if orders == Orders::Both {
            self.keep_near((right.clone(), left.clone()), by_distance(rights.distances_to(&lefts)));
        }
        Ok(Some(self.keep_near(key, by_distance(lefts.distances_to(&rights)))))
    }

    fn keep_near(&self, key: (Side, Side), near: ByDistance) -> Arc<ByDistance> {
        let near = Arc::new(near);
        let bytes = near.iter().map(RoaringBitmap::serialized_size).sum();
        self.keep(&self.cache.near, key, Arc::clone(&near), bytes);
        near
    }

    /// Documents of which one searchable attribute holds both.
    fn docs_with_both(&self, left: &Side, right: &Side) -> Result<RoaringBitmap> {
        let (Some(lefts), Some(rights)) = (self.side_docs(left)?, self.side_docs(right)?) else {
            return Ok(RoaringBitmap::new());
        };
        let both = lefts.fields().filter_map(|(field, docs)| Some(docs & rights.in_field(field)?));
        Ok(both.fold(RoaringBitmap::new(), |all, docs| all | docs))
    }

    fn side_docs(&self, side: &Side) -> Result<Option<Arc<FieldDocs>>> {
        match side {
            Side::Word(text) => self.word(text)?.map(|word| self.word_docs(&word)).transpose(),
            Side::Prefix(prefix) => self.prefix_docs(prefix).map(Some),
        }
    }

    fn side_occurrences(&self, side: &Side, universe: &RoaringBitmap) -> Result<Occurrences> {
        match side {
            Side::Word(text) => self.occurrences(self.word(text)?.iter(), universe),
            Side::Prefix(prefix) => self.prefix_occurrences(prefix, universe),
        }
    }

    /// Documents of `universe` where `right` follows `left`, by least distance. With nearness by
    /// attribute, those that hold both in one attribute are at every distance.
    pub fn pairs(&self, left: &Word, right: &Word, universe: &RoaringBitmap) -> Result<ByDistance> {
        let (left_docs, right_docs) = (self.word_docs(left)?, self.word_docs(right)?);
        if self.nearness_is_by_attribute() {
            let together = left_docs
                .fields()
                .filter_map(|(field, docs)| Some(docs & right_docs.in_field(field)? & universe));
            let together = together.fold(RoaringBitmap::new(), |all, docs| all | docs);
            return Ok([together.clone(), together.clone(), together]);
        }
        let anywhere = |docs: &FieldDocs| docs.matching(Reading::default(), &self.searchable);
        let both = anywhere(&left_docs) & anywhere(&right_docs) & universe;
        if both.len() >= NEAR_DOCUMENTS_MIN {
            let side = |word: &Word| Side::Word(word.text.clone());
            let near = self.near_docs(&side(left), &side(right), Orders::Forward)?;
            let [first, second, third] = std::array::from_fn(|distance| &near[distance] & universe);
            let second = second - &first;
            let third = third - &first - &second;
            return Ok([first, second, third]);
        }
        let lefts = self.occurrences([left].into_iter(), &both)?;
        let rights = self.occurrences([right].into_iter(), &both)?;
        Ok(by_distance(lefts.distances_to(&rights)))
    }

    /// Documents of `universe` where the words of a phrase stand together; a gap stands for any one word.
    ///
    /// Looks at three slots at a time: neighbours must follow one another, words with one slot between them
    /// must be at most two apart. It does not check that all pairs come from the same place.
    /// Source: search §5.5.
    pub fn phrase_docs(
        &self,
        slots: &[Option<&str>],
        reading: Reading,
        universe: &RoaringBitmap,
    ) -> Result<RoaringBitmap> {
        let mut words: Vec<Option<Word>> = Vec::with_capacity(slots.len());
        let mut docs = universe.clone();
        for slot in slots {
            let Some(text) = slot else {
                words.push(None);
                continue;
            };
            let Some(word) = self.word(text)? else { return Ok(RoaringBitmap::new()) };
            docs &= self.word_docs(&word)?.matching(reading, &self.searchable);
            words.push(Some(word));
        }
        for left in 0..words.len() {
            for gap in 1..=2 {
                let (Some(first), Some(Some(second))) = (&words[left], words.get(left + gap)) else {
                    continue;
                };
                if docs.is_empty() {
                    return Ok(docs);
                }
                docs = self.pairs(first, second, &docs)?[..gap]
                    .iter()
                    .fold(RoaringBitmap::new(), |near, docs| near | docs);
            }
        }
        Ok(docs)
    }
}

/// Documents by distance; both ascend.
fn by_distance(nearest: Vec<(u32, u8)>) -> ByDistance {
    let mut docids: [Vec<u32>; DISTANCE_MAX as usize] = Default::default();
    for (docid, distance) in nearest {
        docids[usize::from(distance) - 1].push(docid);
    }
    docids.map(|docids| docids.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
