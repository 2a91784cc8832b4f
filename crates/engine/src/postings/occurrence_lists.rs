//! Reads the occurrences of words in some documents in the fastest way.

use std::borrow::Cow;
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::postings::{Postings as _, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet};

use super::cache::{OccurrenceReads, WordOccurrences};
use super::list_reader::{ALL_DOCS, ListReader};
use super::occurrences::{Occurrences, pack_all, unpack};
use super::reader::Postings;
use super::word::{TermList, Word};
use crate::error::Result;
use crate::fields::FieldId;
use crate::store::DELETED;

impl Postings {
    /// Returns the occurrences of all words with the prefix `prefix` in documents of `universe`.
    pub fn prefix_occurrences(&self, prefix: &str, universe: &RoaringBitmap) -> Result<Occurrences> {
        let mut packed = Vec::new();
        let searched = |packed: &u64| self.searchable.weight(unpack(*packed).1).is_some();
        for (at, segment) in self.segments().enumerate() {
            let here = universe & &*self.snapshot.segments()[at].live;
            if here.is_empty() {
                continue;
            }
            if let Some(short) = segment.short_prefix(prefix) {
                segment.visit_short_prefix(short, &here, |docid, field, positions| {
                    packed.extend(pack_all(docid, field, positions).filter(searched));
                })?;
                continue;
            }
            match segment.prefix_occurrences(prefix)? {
                Some(cached) => {
                    packed.extend(cached.value.within(&here).into_packed().into_iter().filter(searched))
                }
                None => {
                    let mut lists = Vec::new();
                    segment.each_term(prefix, |_, field, info| {
                        if self.searchable.weight(field).is_some() {
                            lists.push(TermList { segment: at, field, info: info.clone() });
                        }
                        Ok(())
                    })?;
                    self.visit_lists(lists.iter(), &here, |docid, field, positions| {
                        packed.extend(pack_all(docid, field, positions));
                    })?;
                }
            }
        }
        Ok(Occurrences::new(packed))
    }

    /// Returns the occurrences of any of `words` in documents of `universe`.
    pub fn occurrences<'w>(
        &self,
        words: impl Iterator<Item = &'w Word>,
        universe: &RoaringBitmap,
    ) -> Result<Occurrences> {
        let mut packed = Vec::new();
        self.visit_positions(words, universe, |docid, field, positions| {
            packed.extend(pack_all(docid, field, positions));
        })?;
        Ok(Occurrences::new(packed))
    }

    /// Calls `visit(docid, field, ascending positions)` for each of `words` in each attribute of each document of
    /// `universe`, in no particular order. May split the positions of a word in an attribute over several calls.
    pub fn visit_positions<'w>(
        &self,
        words: impl Iterator<Item = &'w Word>,
        universe: &RoaringBitmap,
        mut visit: impl FnMut(u32, FieldId, &[u32]),
    ) -> Result<()> {
        let mut lists = Vec::new();
        for word in words {
            match self.word_occurrences(word, universe)? {
                Some(known) => known.visit_within(universe, &mut visit),
                None => lists.extend(&word.lists),
            }
        }
        self.visit_lists(lists.into_iter(), universe, visit)
    }

    /// Returns all occurrences of a word, cached. `None` for frequent words, and until the reads of documents so far,
    /// including those of `universe`, have cost as much.
    fn word_occurrences(&self, word: &Word, universe: &RoaringBitmap) -> Result<Option<Arc<Occurrences>>> {
        let frequency = word.frequency_bound();
        if frequency > OCCURRENCES_FREQUENCY_MAX {
            return Ok(None);
        }
        if let Some(known) = self.cache().get::<WordOccurrences>(&*word.text) {
            return Ok(Some(known));
        }
        let read = self.add::<OccurrenceReads>(&*word.text, || word.text.clone(), universe.len());
        if read * SKIP_COST < frequency {
            return Ok(None);
        }
        let mut packed = Vec::with_capacity(frequency as usize);
        for list in &word.lists {
            let mut reader = ListReader::new(&self.indexes[list.segment], &self.budget);
            self.each_live(
                &mut reader,
                list,
                |_| true,
                |docid, positions| {
                    packed.extend(pack_all(docid, list.field, positions));
                },
            )?;
        }
        Ok(Some(self.insert::<WordOccurrences>(word.text.clone(), Occurrences::new(packed))))
    }

    fn visit_lists<'l>(
        &self,
        lists: impl Iterator<Item = &'l TermList>,
        universe: &RoaringBitmap,
        mut visit: impl FnMut(u32, FieldId, &[u32]),
    ) -> Result<()> {
        if universe.is_empty() {
            return Ok(());
        }
        let mut targets = Targets::new(self, Cow::Borrowed(universe));
        let mut positions = Vec::new();
        let mut readers: Vec<ListReader> =
            self.indexes.iter().map(|index| ListReader::new(index, &self.budget)).collect();
        for list in lists {
            if targets.is_skipping_cheaper(list) {
                self.each_target(
                    list,
                    &mut targets,
                    IndexRecordOption::WithFreqsAndPositions,
                    |docid, postings| {
                        positions.clear();
                        postings.positions(&mut positions);
                        visit(docid, list.field, &positions);
                    },
                )?;
                continue;
            }
            // Looking up each posting of a short list is faster than marking many documents.
            let is_short = u64::from(list.info.doc_freq) * SKIP_COST < universe.len();
            let marks: &[u8] = if is_short { &[] } else { targets.marks() };
            let marked = |docid: u32| is_marked(marks, docid) || (is_short && universe.contains(docid));
            self.each_live(&mut readers[list.segment], list, marked, |docid, positions| {
                visit(docid, list.field, positions);
            })?;
        }
        Ok(())
    }

    /// Calls `visit` with the live documents of a list that are `wanted`, ascending, and their ascending positions.
    fn each_live(
        &self,
        reader: &mut ListReader,
        list: &TermList,
        wanted: impl Fn(u32) -> bool,
        mut visit: impl FnMut(u32, &[u32]),
    ) -> Result<()> {
        let docids = &self.snapshot.segments()[list.segment].docids;
        let wanted = |doc: DocId| {
            let docid = docids[doc as usize];
            docid != DELETED && wanted(docid)
        };
        let positions = &self.positions[list.segment];
        reader.each_doc_with_positions(&list.info, &ALL_DOCS, positions, wanted, |doc, positions| {
            visit(docids[doc as usize], positions);
        })
    }

    /// Calls `visit` with the targets in a list, ascending. The cursor is at the document.
    fn each_target(
        &self,
        list: &TermList,
        targets: &mut Targets,
        option: IndexRecordOption,
        mut visit: impl FnMut(u32, &mut SegmentPostings),
    ) -> Result<()> {
        let docids = &self.snapshot.segments()[list.segment].docids;
        let mut postings = self.open_list(list, option)?;
        for &target in targets.in_segment(list.segment) {
            if self.budget.stops() {
                break;
            }
            if postings.doc() < target {
                postings.seek(target);
            }
            if postings.doc() == target {
                visit(docids[target as usize], &mut postings);
            }
        }
        Ok(())
    }
}

impl Postings {
    /// Calls `visit` with the target documents that hold one of `words` in a searchable field, the field, the number of
    /// occurrences, and the number given with the word.
    pub fn visit_counts_in<'w>(
        &self,
        words: impl Iterator<Item = (&'w Word, u64)>,
        targets: &mut Targets,
        mut visit: impl FnMut(u32, FieldId, u32, u64),
    ) -> Result<()> {
        for (word, number) in words {
            for list in &word.lists {
                if targets.is_skipping_cheaper(list) {
                    self.each_target(list, targets, IndexRecordOption::WithFreqs, |docid, postings| {
                        visit(docid, list.field, postings.term_freq(), number);
                    })?;
                    continue;
                }
                let docids = &self.snapshot.segments()[list.segment].docids;
                let marks = targets.marks();
                let mut reader = ListReader::new(&self.indexes[list.segment], &self.budget);
                reader.each_doc_with_count(&list.info, &ALL_DOCS, |doc, count| {
                    let docid = docids[doc as usize];
                    if docid != DELETED && is_marked(marks, docid) {
                        visit(docid, list.field, count, number);
                    }
                })?;
            }
        }
        Ok(())
    }
}

/// Target documents, in the two forms that reading a list needs. Each form is built when it is first needed.
pub struct Targets<'a> {
    postings: &'a Postings,
    universe: Cow<'a, RoaringBitmap>,
    /// A bit per docid.
    marks: Option<Vec<u8>>,
    /// Number of targets, by segment.
    counts: Option<Vec<u64>>,
    /// Ascending segment docids.
    by_segment: Vec<Option<Vec<DocId>>>,
}

impl<'a> Targets<'a> {
    /// Creates targets from the documents of `universe`.
    pub fn new(postings: &'a Postings, universe: Cow<'a, RoaringBitmap>) -> Self {
        Self { postings, universe, marks: None, counts: None, by_segment: Vec::new() }
    }

    /// Creates targets from docids of the index, in any order.
    pub fn of_docids(postings: &'a Postings, docids: &[u32]) -> Self {
        let mut marks = vec![0u8; docids.iter().max().map_or(0, |last| *last as usize / 8 + 1)];
        docids.iter().for_each(|&docid| marks[docid as usize / 8] |= 1 << (docid % 8));
        let universe = Cow::Owned(RoaringBitmap::from_lsb0_bytes(0, &marks));
        Self { marks: Some(marks), ..Self::new(postings, universe) }
    }

    /// Returns the target documents.
    pub fn docs(&self) -> &RoaringBitmap {
        &self.universe
    }

    /// Returns a function that tells if a document is a target. Faster than the bitmap.
    pub fn contains(&mut self) -> impl Fn(u32) -> bool + '_ {
        let marks = self.marks();
        |docid| is_marked(marks, docid)
    }

    /// Returns true if skipping to each target of the segment is cheaper than reading the complete list.
    fn is_skipping_cheaper(&mut self, list: &TermList) -> bool {
        let counts = self.counts.get_or_insert_with(|| {
            let segments = self.postings.snapshot.segments().iter();
            segments.map(|segment| self.universe.intersection_len(&segment.live)).collect()
        });
        counts[list.segment] * SKIP_COST < u64::from(list.info.doc_freq)
    }

    fn marks(&mut self) -> &[u8] {
        self.marks.get_or_insert_with(|| {
            let mut marks = vec![0u8; self.universe.max().unwrap_or(0) as usize / 8 + 1];
            for docid in &*self.universe {
                marks[docid as usize / 8] |= 1 << (docid % 8);
            }
            marks
        })
    }

    fn in_segment(&mut self, segment: usize) -> &[DocId] {
        if self.by_segment.len() <= segment {
            self.by_segment.resize(segment + 1, None);
        }
        self.by_segment[segment].get_or_insert_with(|| {
            let mut docs = self.postings.snapshot.segments()[segment].segment_docids(&self.universe);
            docs.sort_unstable();
            docs
        })
    }
}

fn is_marked(marks: &[u8], docid: u32) -> bool {
    marks.get(docid as usize / 8).is_some_and(|byte| byte >> (docid % 8) & 1 == 1)
}

/// Occurrences of more frequent words are not cached: finding a few documents in them takes as long as reading their
/// postings.
const OCCURRENCES_FREQUENCY_MAX: u64 = 4096;

/// Number of postings that are read sequentially in the time of one skip. An estimate, confirmed by measurements on the
/// films corpus.
pub const SKIP_COST: u64 = 8;
