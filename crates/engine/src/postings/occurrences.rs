//! Where in some documents do these words stand?

use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::postings::Postings as _;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet};

use super::Postings;
use super::dictionary::{List, Word};
use super::list_reader::{ListReader, WHOLE};
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
    pub(super) fn new(mut places: Vec<u64>) -> Self {
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
        self.each_within(universe, |places| found.extend_from_slice(places));
        Self { places: found }
    }

    /// Calls `visit(docid, field, positions)` for each of those in documents of `universe`, one position at a time.
    pub fn visit_within(&self, universe: &RoaringBitmap, mut visit: impl FnMut(u32, FieldId, &[u32])) {
        self.each_within(universe, |places| {
            for (docid, field, position) in places.iter().map(|&place| unpack(place)) {
                visit(docid, field, &[position]);
            }
        });
    }

    /// Calls `take` with the places in each document of `universe`.
    fn each_within(&self, universe: &RoaringBitmap, mut take: impl FnMut(&[u64])) {
        let of_one_document = |a: &u64, b: &u64| a >> 32 == b >> 32;
        if (self.places.len() as u64) < universe.len() {
            let documents = self.places.chunk_by(of_one_document);
            return documents.filter(|places| universe.contains(unpack(places[0]).0)).for_each(take);
        }
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
        size_of_val(self.places.as_slice())
    }

    pub(super) fn places(&self) -> &[u64] {
        &self.places
    }
}

pub(super) fn pack(docid: u32, field: FieldId, position: u32) -> u64 {
    u64::from(docid) << 32 | u64::from(field) << 16 | u64::from(position & 0xffff)
}

fn unpack(place: u64) -> (u32, FieldId, u32) {
    ((place >> 32) as u32, (place >> 16) as FieldId, place as u32 & 0xffff)
}

impl Postings {
    /// Places in documents of `universe` of all words that begin with `prefix`.
    pub fn prefix_occurrences(&self, prefix: &str, universe: &RoaringBitmap) -> Result<Occurrences> {
        let mut places = Vec::new();
        let searched = |place: &u64| self.searchable.weight(unpack(*place).1).is_some();
        for (at, segment) in self.segments().enumerate() {
            let here = universe & &*self.snapshot.segments()[at].live;
            if here.is_empty() {
                continue;
            }
            if let Some(initial) = segment.initials(prefix) {
                segment.visit_initial(initial, &here, |docid, field, positions| {
                    let found = positions.iter().map(|&position| pack(docid, field, position));
                    places.extend(found.filter(searched));
                })?;
                continue;
            }
            match segment.prefix_places(prefix)? {
                Some(kept) => places.extend(kept.value.within(&here).places.into_iter().filter(searched)),
                None => {
                    let mut lists = Vec::new();
                    segment.each_term(prefix, |_, field, info| {
                        if self.searchable.weight(field).is_some() {
                            lists.push(List { segment: at, field, info: info.clone() });
                        }
                        Ok(())
                    })?;
                    self.visit_lists(lists.iter(), &here, |docid, field, positions| {
                        places.extend(positions.iter().map(|&position| pack(docid, field, position)));
                    })?;
                }
            }
        }
        Ok(Occurrences::new(places))
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
    /// document of `universe`, in no particular order; perhaps several times with some of the positions each.
    pub fn visit_positions<'w>(
        &self,
        words: impl Iterator<Item = &'w Word>,
        universe: &RoaringBitmap,
        mut visit: impl FnMut(u32, FieldId, &[u32]),
    ) -> Result<()> {
        let mut lists = Vec::new();
        for word in words {
            match self.word_places(word, universe)? {
                Some(kept) => kept.visit_within(universe, &mut visit),
                None => lists.extend(&word.lists),
            }
        }
        self.visit_lists(lists.into_iter(), universe, visit)
    }

    /// All places of a word, read once; None while reading those in `universe` is as quick, or if it is a frequent one.
    fn word_places(&self, word: &Word, universe: &RoaringBitmap) -> Result<Option<Arc<Occurrences>>> {
        let frequency = word.frequency_bound();
        if frequency > PLACES_FREQUENCY_MAX {
            return Ok(None);
        }
        if let Some(known) = self.cache.places.get(&word.text) {
            return Ok(Some(known));
        }
        if self.cache.places_read.count(&word.text, universe.len()) * SKIP_COST < frequency {
            return Ok(None);
        }
        let mut places = Vec::with_capacity(frequency as usize);
        for list in &word.lists {
            let docids = &self.snapshot.segments()[list.segment].docids;
            ListReader::new(&self.indexes[list.segment], &self.budget).each_doc_with_positions(
                &list.info,
                &WHOLE,
                &self.positions[list.segment],
                |doc| docids[doc as usize] != DELETED,
                |doc, positions| {
                    let docid = docids[doc as usize];
                    places.extend(positions.iter().map(|&position| pack(docid, list.field, position)));
                },
            )?;
        }
        let places = Arc::new(Occurrences::new(places));
        let (key, bytes) = (word.text.clone(), places.bytes());
        self.keep_within(PLACES_BYTES_MAX, &self.cache.places, key, Arc::clone(&places), bytes);
        Ok(Some(places))
    }

    fn visit_lists<'l>(
        &self,
        lists: impl Iterator<Item = &'l List>,
        universe: &RoaringBitmap,
        mut visit: impl FnMut(u32, FieldId, &[u32]),
    ) -> Result<()> {
        if universe.is_empty() {
            return Ok(());
        }
        let mut targets = Targets { postings: self, universe, marks: None, by_segment: Vec::new() };
        let mut positions = Vec::new();
        let mut readers: Vec<ListReader> =
            self.indexes.iter().map(|index| ListReader::new(index, &self.budget)).collect();
        for list in lists {
            let docids = &self.snapshot.segments()[list.segment].docids;
            if targets.are_few_beside(list) {
                let mut postings = self.open_list(list, IndexRecordOption::WithFreqsAndPositions)?;
                for &target in targets.in_segment(list.segment) {
                    if self.budget.stops() {
                        break;
                    }
                    if postings.doc() < target {
                        postings.seek(target);
                    }
                    if postings.doc() == target {
                        positions.clear();
                        postings.positions(&mut positions);
                        visit(docids[target as usize], list.field, &positions);
                    }
                }
                continue;
            }
            // Looking few postings up beats marking many documents.
            let is_short = u64::from(list.info.doc_freq) * SKIP_COST < universe.len();
            let marks: &[u64] = if is_short { &[] } else { targets.marks() };
            let marked = |docid: u32| {
                marks.get(docid as usize / 64).is_some_and(|word| word >> (docid % 64) & 1 == 1)
                    || (is_short && universe.contains(docid))
            };
            let wanted = |doc: DocId| {
                let docid = docids[doc as usize];
                docid != DELETED && marked(docid)
            };
            readers[list.segment].each_doc_with_positions(
                &list.info,
                &WHOLE,
                &self.positions[list.segment],
                wanted,
                |doc, positions| visit(docids[doc as usize], list.field, positions),
            )?;
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

/// Places of words in more documents are read anew each time: a list of them is long to look through.
const PLACES_FREQUENCY_MAX: u64 = 4096;

/// Bytes of kept places of words in one generation; there are at most two.
const PLACES_BYTES_MAX: usize = 4 << 20;

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
