//! Positions of some words in one attribute, by document of a segment.

use tantivy::DocId;

use crate::postings::by_distance::DISTANCE_MAX;

/// Positions of words in one attribute, by segment docid.
pub(super) struct PositionsByDoc {
    /// By segment docid, the index of its first position; followed by the number of positions.
    starts: Vec<u32>,
    /// Ascending for each document.
    positions: Vec<u16>,
}

impl PositionsByDoc {
    /// `postings` may be unordered and repeated; their documents are below `documents`.
    pub(super) fn new(mut postings: Vec<(DocId, u16)>, documents: DocId) -> Self {
        // Each list was read in order. A stable sort is fast on such sorted runs.
        if !postings.is_sorted() {
            postings.sort();
        }
        postings.dedup();
        let mut starts = vec![0u32; documents as usize + 1];
        for (doc, _) in &postings {
            starts[*doc as usize + 1] += 1;
        }
        let mut before = 0;
        for start in &mut starts {
            before += *start;
            *start = before;
        }
        Self { starts, positions: postings.into_iter().map(|(_, position)| position).collect() }
    }

    /// Returns the positions of a document.
    pub(super) fn at(&self, doc: DocId) -> &[u16] {
        &self.positions[self.starts[doc as usize] as usize..self.starts[doc as usize + 1] as usize]
    }

    /// Returns the least distance, 1 to [`DISTANCE_MAX`], between the positions of `doc` and `others`, both ascending:
    /// from a position of `doc` forward to one of `others` if `by_doc_first`, else the other way. `None` if it is
    /// greater.
    pub(super) fn least_distance(&self, doc: DocId, others: &[u32], by_doc_first: bool) -> Option<u8> {
        let mut own = self.at(doc).iter().map(|&position| u32::from(position)).peekable();
        let mut others = others.iter().copied().peekable();
        let least = if by_doc_first { least(&mut own, others) } else { least(&mut others, own) };
        least.filter(|&distance| distance <= u32::from(DISTANCE_MAX)).map(|distance| distance as u8)
    }
}

/// Returns the least distance from one of `lefts` forward to one of `rights`, both ascending.
fn least(
    lefts: &mut std::iter::Peekable<impl Iterator<Item = u32>>,
    rights: impl Iterator<Item = u32>,
) -> Option<u32> {
    let mut before = None;
    let mut least = None;
    for right in rights {
        while let Some(left) = lefts.next_if(|&left| left < right) {
            before = Some(left);
        }
        if let Some(left) = before {
            let distance = right - left;
            least = Some(least.map_or(distance, |known: u32| known.min(distance)));
            if distance == 1 {
                break;
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_least_distance_of_a_document_is_found(
            postings in proptest::collection::vec((0u32..4, 0u16..30), 0..40),
            others in proptest::collection::btree_set(0u32..30, 0..20),
        ) {
            let by_doc = PositionsByDoc::new(postings.clone(), 4);
            let others: Vec<u32> = others.into_iter().collect();
            for doc in 0..4 {
                for by_doc_first in [true, false] {
                    let here = postings.iter().filter(|posting| posting.0 == doc).map(|posting| u32::from(posting.1));
                    let pairs = here.flat_map(|own| others.iter().map(move |&other| (own, other)));
                    let distances = pairs.map(|(own, other)| if by_doc_first {
                        other.checked_sub(own)
                    } else {
                        own.checked_sub(other)
                    });
                    let near = distances.flatten().filter(|distance| (1..=3).contains(distance));
                    let least = near.min().map(|distance| distance as u8);
                    prop_assert_eq!(by_doc.least_distance(doc, &others, by_doc_first), least);
                }
            }
        }
    }
}
