//! Reads complete postings lists, a block of documents at a time.
//!
//! The cursor of tantivy finds the positions of a document by summing the frequencies before it in its block, again for
//! each document. This reader decodes the positions of a block at once.

use std::ops::Range;

use tantivy::directory::FileSlice;
use tantivy::positions::PositionReader;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, InvertedIndexReader};

use super::budget::Budget;
use crate::error::{Error, Result};

/// The range of all documents of a segment.
pub(super) const ALL_DOCS: Range<DocId> = 0..DocId::MAX;

/// Reads postings lists of a segment one after another, with the same buffers.
pub(super) struct ListReader<'a> {
    index: &'a InvertedIndexReader,
    budget: &'a Budget,
    documents: Option<BlockSegmentPostings>,
    with_counts: Option<BlockSegmentPostings>,
    /// Positions of a block: read as differences, then decoded in place.
    positions: Vec<u32>,
}

/// Bound from the densest encoding: a block of 128 positions that are all 0 takes one byte, its bit width.
const POSITIONS_PER_BYTE_MAX: usize = 128;

impl<'a> ListReader<'a> {
    /// Creates a reader of lists of `index`.
    pub(super) fn new(index: &'a InvertedIndexReader, budget: &'a Budget) -> Self {
        Self { index, budget, documents: None, with_counts: None, positions: Vec::new() }
    }

    /// Calls `take` with the documents of a list that are in `within`, ascending.
    pub(super) fn each_doc(
        &mut self,
        info: &TermInfo,
        within: &Range<DocId>,
        mut take: impl FnMut(DocId),
    ) -> Result<()> {
        let option = IndexRecordOption::Basic;
        let block = open(self.index, &mut self.documents, info, option)?;
        if within.start > 0 {
            block.seek(within.start);
        }
        while begins_before(block, within.end) && !self.budget.stops_after(block.docs().len()) {
            block.docs().iter().filter(|doc| within.contains(doc)).for_each(|&doc| take(doc));
            block.advance();
        }
        Ok(())
    }

    /// Calls `take` with the documents of a list that are in `within`, ascending, and the number of occurrences in each.
    pub(super) fn each_doc_with_count(
        &mut self,
        info: &TermInfo,
        within: &Range<DocId>,
        mut take: impl FnMut(DocId, u32),
    ) -> Result<()> {
        let block = open(self.index, &mut self.with_counts, info, IndexRecordOption::WithFreqs)?;
        if within.start > 0 {
            block.seek(within.start);
        }
        while begins_before(block, within.end) && !self.budget.stops_after(block.docs().len()) {
            let counted = block.docs().iter().zip(block.freqs());
            counted.filter(|(doc, _)| within.contains(doc)).for_each(|(&doc, &count)| take(doc, count));
            block.advance();
        }
        Ok(())
    }

    /// Calls `take` with the documents of a list that are in `within` and accepted by `wanted`, ascending, with their
    /// ascending positions. `positions` is the positions file of `index`.
    ///
    /// # Errors
    /// Internal, if the list counts more positions than its bytes can encode.
    pub(super) fn each_doc_with_positions(
        &mut self,
        info: &TermInfo,
        within: &Range<DocId>,
        positions: &FileSlice,
        wanted: impl Fn(DocId) -> bool,
        mut take: impl FnMut(DocId, &[u32]),
    ) -> Result<()> {
        let bytes = positions.read_bytes_slice(info.positions_range.clone())?;
        let positions_max = (bytes.len() as u64 + 1) * POSITIONS_PER_BYTE_MAX as u64;
        let mut positions = PositionReader::open(bytes)?;
        let option = IndexRecordOption::WithFreqs;
        let block = open(self.index, &mut self.with_counts, info, option)?;
        let wanted = |doc: DocId| within.contains(&doc) && wanted(doc);
        let mut read = 0u64;
        while begins_before(block, within.end) && !self.budget.stops_after(block.docs().len()) {
            let counts = &block.freqs()[..block.docs().len()];
            let count: u64 = counts.iter().map(|&count| u64::from(count)).sum();
            if read + count > positions_max {
                return Err(Error::internal(
                    "positions are damaged",
                    "there are more than the bytes can encode",
                ));
            }
            if count > 0 && block.docs().iter().any(|&doc| wanted(doc)) {
                self.positions.resize(count as usize, 0);
                positions.read(read, &mut self.positions);
                let mut rest = self.positions.as_mut_slice();
                for (&doc, &count) in block.docs().iter().zip(counts) {
                    let (here, after) = rest.split_at_mut(count as usize);
                    rest = after;
                    if wanted(doc) {
                        let mut position = 0u32;
                        for difference in here.iter_mut() {
                            position = position.wrapping_add(*difference);
                            *difference = position;
                        }
                        take(doc, here);
                    }
                }
            }
            read += count;
            block.advance();
        }
        Ok(())
    }
}

/// Returns true if the current block begins before the document `end`.
fn begins_before(block: &BlockSegmentPostings, end: DocId) -> bool {
    block.docs().first().is_some_and(|&doc| doc < end)
}

/// Opens the first block of a list. Reuses the buffers of the previous list.
fn open<'b>(
    index: &InvertedIndexReader,
    block: &'b mut Option<BlockSegmentPostings>,
    info: &TermInfo,
    option: IndexRecordOption,
) -> Result<&'b mut BlockSegmentPostings> {
    match block {
        Some(block) => {
            index.reset_block_postings_from_terminfo(info, block)?;
            Ok(block)
        }
        None => Ok(block.insert(index.read_block_postings_from_terminfo(info, option)?)),
    }
}
