//! Where in some documents do these words stand?

use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::postings::Postings as _;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED};

use super::dictionary::{List, Word};
use super::{Postings, Prefix};
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::DELETED;

/// Places of words, ordered by document, attribute and position.
#[derive(Debug, Default, Clone)]
pub struct Occurrences {
    /// docid ‖ field ‖ position, packed so that numbers compare as places do.
    places: Vec<u64>,
}

impl Occurrences {
    /// Orders places that were pushed in any order and may repeat.
    fn new(mut places: Vec<u64>) -> Self {
        // Lists of words come one after another, each in order: runs a stable sort merges.
        if !places.is_sorted() {
            places.sort();
        }
        places.dedup();
        Self { places }
    }

    /// docid, field and position of each, in any order; positions below 65536.
    pub fn at(places: impl IntoIterator<Item = (u32, FieldId, u32)>) -> Self {
        Self::new(places.into_iter().map(|(docid, field, position)| pack(docid, field, position)).collect())
    }

    /// All places of both.
    pub fn merged(mut self, other: &Self) -> Self {
        if self.places.is_empty() {
            return other.clone();
        }
        self.places.extend_from_slice(&other.places);
        Self::new(self.places)
    }

    /// How many places these are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// docid, field and position of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, FieldId, u32)> + '_ {
        self.places.iter().map(|&place| unpack(place))
    }

    /// Those in documents of `universe`.
    pub fn within(&self, universe: &RoaringBitmap) -> Self {
        let mut found = Vec::new();
        let mut left = self.places.as_slice();
        for docid in universe {
            // Few documents skip over most places, so the next one is looked for in growing steps.
            let starts_before = |place: &u64| *place < u64::from(docid) << 32;
            let mut reach = 1;
            while left.get(reach).is_some_and(starts_before) {
                reach *= 2;
            }
            let start = left[..left.len().min(reach + 1)].partition_point(starts_before);
            left = &left[start..];
            let count = left.iter().take_while(|place| unpack(**place).0 == docid).count();
            found.extend_from_slice(&left[..count]);
            left = &left[count..];
            if left.is_empty() {
                break;
            }
        }
        Self { places: found }
    }

    pub(super) fn places(&self) -> &[u64] {
        &self.places
    }
}

fn pack(docid: u32, field: FieldId, position: u32) -> u64 {
    u64::from(docid) << 32 | u64::from(field) << 16 | u64::from(position & 0xffff)
}

fn unpack(place: u64) -> (u32, FieldId, u32) {
    ((place >> 32) as u32, (place >> 16) as FieldId, place as u32 & 0xffff)
}

/// Postings of a beginning up to which its places are worked out for all documents at once.
const KEPT_POSTINGS_MAX: u64 = 1 << 20;

impl Postings {
    /// Places in documents of `universe` of all words that begin with `text`, which are those of `prefix`.
    pub fn prefix_occurrences(
        &self,
        text: &str,
        prefix: &Prefix,
        universe: &RoaringBitmap,
    ) -> Result<Occurrences> {
        let key: Box<str> = text.into();
        let bytes = |places: &Occurrences| places.len() * size_of::<u64>();
        if let Some(known) = self.cache.places.get(&key, bytes) {
            return Ok(known.within(universe));
        }
        let postings: u64 = prefix.words.iter().map(Word::frequency_bound).sum();
        if postings > KEPT_POSTINGS_MAX {
            return self.occurrences(prefix.words.iter(), universe);
        }
        let all = Arc::new(self.occurrences(prefix.words.iter(), self.snapshot.documents())?);
        self.cache.places.insert(key, Arc::clone(&all), bytes(&all));
        Ok(all.within(universe))
    }

    /// Places of any of `words` in documents of `universe`.
    pub fn occurrences<'w>(
        &self,
        words: impl Iterator<Item = &'w Word>,
        universe: &RoaringBitmap,
    ) -> Result<Occurrences> {
        let mut places = Vec::new();
        self.visit_positions(words, universe, |docid, field, positions| {
            places.extend(positions.iter().map(|&position| pack(docid, field, position)));
        })?;
        Ok(Occurrences::new(places))
    }

    /// Calls `visit(docid, field, ascending positions)` for each of `words` in each attribute of each
    /// document of `universe`, in no particular order.
    pub fn visit_positions<'w>(
        &self,
        words: impl Iterator<Item = &'w Word>,
        universe: &RoaringBitmap,
        mut visit: impl FnMut(u32, FieldId, &[u32]),
    ) -> Result<()> {
        if universe.is_empty() {
            return Ok(());
        }
        let mut targets = Targets { postings: self, universe, marks: None, by_segment: Vec::new() };
        let mut positions = Vec::new();
        for list in words.flat_map(|word| &word.lists) {
            let docids = &self.snapshot.segments()[list.segment].docids;
            let mut postings = self.open_list(list, IndexRecordOption::WithFreqsAndPositions)?;
            let mut read = |postings: &mut tantivy::postings::SegmentPostings, docid| {
                positions.clear();
                postings.positions(&mut positions);
                visit(docid, list.field, &positions);
            };
            if targets.are_few_beside(list) {
                for &target in targets.in_segment(list.segment) {
                    if postings.doc() < target {
                        postings.seek(target);
                    }
                    if postings.doc() == target {
                        read(&mut postings, docids[target as usize]);
                    }
                }
                continue;
            }
            let marks = targets.marks();
            let mut doc = postings.doc();
            while doc != TERMINATED {
                let docid = docids[doc as usize];
                if docid != DELETED
                    && marks.get(docid as usize / 64).is_some_and(|word| word >> (docid % 64) & 1 == 1)
                {
                    read(&mut postings, docid);
                }
                doc = postings.advance();
            }
        }
        Ok(())
    }
}

/// The documents to look at, in the two forms a list may be read with. Each is built when first needed.
struct Targets<'a> {
    postings: &'a Postings,
    universe: &'a RoaringBitmap,
    /// One bit per docid.
    marks: Option<Vec<u64>>,
    /// Ascending segment docids.
    by_segment: Vec<Option<Vec<DocId>>>,
}

impl Targets<'_> {
    /// Whether skipping to each target is cheaper than reading the list from end to end.
    fn are_few_beside(&self, list: &List) -> bool {
        self.universe.len() * SKIP_COST < u64::from(list.info.doc_freq)
    }

    fn marks(&mut self) -> &[u64] {
        self.marks.get_or_insert_with(|| {
            let mut marks = vec![0u64; self.universe.max().unwrap_or(0) as usize / 64 + 1];
            for docid in self.universe {
                marks[docid as usize / 64] |= 1 << (docid % 64);
            }
            marks
        })
    }

    fn in_segment(&mut self, segment: usize) -> &[DocId] {
        if self.by_segment.len() <= segment {
            self.by_segment.resize(segment + 1, None);
        }
        self.by_segment[segment].get_or_insert_with(|| {
            let mut docs = self.postings.snapshot.segments()[segment].segment_docids(self.universe);
            docs.sort_unstable();
            docs
        })
    }
}

/// Postings read one after another in the time of one skip; a guess, confirmed on the films.
const SKIP_COST: u64 = 8;

#[cfg(test)]
mod tests {
    use super::{pack, unpack};

    #[test]
    fn a_place_survives_packing() {
        for place in [(0, 0, 0), (7, 3, 15), (u32::MAX - 1, u16::MAX, 65_535)] {
            assert_eq!(unpack(pack(place.0, place.1, place.2)), place);
        }
    }
}
