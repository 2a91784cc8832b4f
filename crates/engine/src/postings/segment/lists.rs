//! Postings lists of a segment that are read together, and how threads share them.

use std::ops::Range;

use tantivy::DocId;
use tantivy::postings::TermInfo;

use crate::fields::FieldId;

/// A postings list of one of the words asked for, or a part of it.
#[derive(Clone)]
pub(super) struct ListRange {
    pub(super) field: FieldId,
    pub(super) is_numeric: bool,
    pub(super) info: TermInfo,
    /// Documents that are read of it.
    pub(super) within: Range<DocId>,
}

/// Cuts the reading of lists into about equal shares: between lists, and where one is long also in its middle, taking
/// its documents to be spread evenly over `0..end`.
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

/// Postings of all lists.
pub(super) fn frequency(lists: &[ListRange]) -> u64 {
    lists.iter().map(|list| u64::from(list.info.doc_freq)).sum()
}

/// Postings from which several threads share the reading: it takes a millisecond then, a thread 0.05.
pub(super) const SHARED_POSTINGS_MIN: u64 = 1 << 17;

/// The same where positions are read too: a millisecond and more.
pub(crate) const SHARED_POSITIONS_MIN: u64 = 1 << 14;

/// Postings of one list from which threads share it. To find where the positions of its second half begin, the counts
/// of its first are read, a tenth of the work.
const CUT_POSTINGS_MIN: u64 = 1 << 14;
