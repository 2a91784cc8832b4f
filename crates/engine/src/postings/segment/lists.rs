//! Postings lists of a segment that are read together, and their distribution over threads.

use std::ops::Range;

use tantivy::DocId;
use tantivy::postings::TermInfo;

use crate::fields::FieldId;

/// Part of a postings list that a thread reads.
#[derive(Clone)]
pub(super) struct ListRange {
    pub(super) field: FieldId,
    pub(super) is_numeric: bool,
    pub(super) info: TermInfo,
    /// Range of documents to read.
    pub(super) within: Range<DocId>,
}

/// Splits lists into shares of about equal length, one per thread. Shares end between lists or inside long ones, on the
/// assumption that documents of a list are spread evenly over `0..end`.
pub(super) fn share_out(lists: &[ListRange], threads: usize, end: DocId) -> Vec<Vec<ListRange>> {
    let all = frequency(lists);
    let border = |shares: usize| all * shares as u64 / threads as u64;
    let (mut shares, mut share, mut before) = (Vec::with_capacity(threads), Vec::new(), 0);
    for list in lists {
        let (mut rest, postings) = (list.clone(), u64::from(list.info.doc_freq));
        while shares.len() + 1 < threads && border(shares.len() + 1) < before + postings {
            if postings >= CUT_POSTINGS_MIN {
                let here = border(shares.len() + 1).saturating_sub(before);
                let cut = (u64::from(end) * here / postings) as DocId;
                share.push(ListRange { within: rest.within.start..cut, ..rest.clone() });
                rest.within.start = cut;
            }
            shares.push(std::mem::take(&mut share));
        }
        share.push(rest);
        before += postings;
    }
    shares.push(share);
    shares
}

/// Returns the number of postings of all lists.
pub(super) fn frequency(lists: &[ListRange]) -> u64 {
    lists.iter().map(|list| u64::from(list.info.doc_freq)).sum()
}

/// From this many postings on, several threads share the reading: it takes a millisecond, starting a thread 0.05.
pub(super) const SHARED_POSTINGS_MIN: u64 = 1 << 17;

/// From this many postings on, several threads share the reading of positions: it takes more than a millisecond.
pub(crate) const SHARED_POSITIONS_MIN: u64 = 1 << 14;

/// Lists with fewer postings are not split. A thread that begins inside a list reads the frequencies before it to find
/// its positions, which takes a tenth of the time of reading these positions.
const CUT_POSTINGS_MIN: u64 = 1 << 14;
