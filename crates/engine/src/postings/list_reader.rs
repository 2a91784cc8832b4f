//! Reads postings lists from end to end, a block of documents at a time.
//!
//! tantivy's own cursor finds the positions of one document by adding up what lies before them in its block,
//! for each document anew. A reader of a whole list takes the positions of a block in one go.

use std::ops::Range;

use tantivy::directory::FileSlice;
use tantivy::positions::PositionReader;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, InvertedIndexReader};

use super::budget::Budget;
use crate::error::{Error, Result};

/// All documents of a segment.
pub(super) const WHOLE: Range<DocId> = 0..DocId::MAX;

/// Reads one list after another without making room for each anew.
pub(super) struct ListReader<'a> {
    index: &'a InvertedIndexReader,
    budget: &'a Budget,
    documents: Option<BlockSegmentPostings>,
    with_counts: Option<BlockSegmentPostings>,
    /// Positions of a block: differences first, then themselves.
    positions: Vec<u32>,
}

/// Bits of a position take none of its own if all of a block are 0, but a byte for the block.
const POSITIONS_PER_BYTE_MAX: usize = 128;

impl<'a> ListReader<'a> {
    /// For lists of `index`.
    pub(super) fn new(index: &'a InvertedIndexReader, budget: &'a Budget) -> Self {
        Self { index, budget, documents: None, with_counts: None, positions: Vec::new() }
    }

    /// Calls `take` with the documents of a list that are `within`, ascending.
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

    /// Calls `take` with the wanted documents of a list that are `within`, ascending, and the ascending positions of
    /// each. `positions` is where all of `index` lie.
    ///
    /// # Errors
    /// Internal if there are more positions than can be.
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
                return Err(Error::internal("positions are damaged", "there are more than there can be"));
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

/// Whether there is more of a list before `end`.
fn begins_before(block: &BlockSegmentPostings, end: DocId) -> bool {
    block.docs().first().is_some_and(|&doc| doc < end)
}

/// The first block of a list, in the place of one read before.
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
