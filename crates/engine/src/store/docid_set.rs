//! Sets of docids, and conversions between bitmaps and lists.

use roaring::RoaringBitmap;

/// Returns the docids of a bitmap, ascending. A plain iterator takes several times as long.
pub fn ascending(docids: &RoaringBitmap) -> Vec<u32> {
    let mut all = vec![0; docids.len() as usize];
    let given = docids.iter().next_many(&mut all).len();
    debug_assert_eq!(given, all.len(), "a bitmap gives as many docids as it counts");
    all
}

/// Returns the memory of a bitmap, in bytes.
pub fn bitmap_bytes(docids: &RoaringBitmap) -> usize {
    let containers = docids.statistics();
    size_of::<RoaringBitmap>()
        + CONTAINER_BYTES * containers.n_containers as usize
        + size_of::<u16>() * containers.n_values_array_containers as usize
        + BITSET_BYTES * containers.n_bitset_containers as usize
        + containers.n_bytes_run_containers as usize
}

/// Memory of a container without its values, in bytes: a slot in a list and the header of an allocation.
const CONTAINER_BYTES: usize = 48;

/// Bytes of a bitset: a bit for each of 2¹⁶ docids.
const BITSET_BYTES: usize = 8192;

/// Collects docids of one segment for a bitmap: as a list while they are few, then as one bit each.
///
/// `RoaringBitmap::push` compares each docid with the greatest one, which takes 0.2 s for a million.
pub struct DocidSet {
    /// Least possible docid, rounded down to a multiple of 8.
    first: u32,
    /// Number of possible docids from `first` on.
    span: usize,
    few: Vec<u32>,
    marks: Vec<u8>,
}

/// At more than one docid per this many possible docids, bits take less time than sorting.
const SPARSE_RATIO: usize = 32;

impl DocidSet {
    /// Creates an empty set for docids in `first..=last`.
    pub fn new(first: u32, last: u32) -> Self {
        let first = first & !7;
        Self { first, span: last.saturating_sub(first) as usize + 1, few: Vec::new(), marks: Vec::new() }
    }

    /// Adds a docid; repeats are allowed.
    pub fn add(&mut self, docid: u32) {
        if self.marks.is_empty() {
            if self.few.last() == Some(&docid) {
                return;
            }
            self.few.push(docid);
            if self.few.len() * SPARSE_RATIO > self.span {
                self.marks = vec![0; self.span.div_ceil(8)];
                for docid in std::mem::take(&mut self.few) {
                    self.mark(docid);
                }
            }
        } else {
            self.mark(docid);
        }
    }

    fn mark(&mut self, docid: u32) {
        let at = docid - self.first;
        self.marks[at as usize / 8] |= 1 << (at % 8);
    }

    /// Returns the added docids as a bitmap.
    pub fn finish(mut self) -> RoaringBitmap {
        if self.marks.is_empty() {
            self.few.sort_unstable();
            self.few.dedup();
            return RoaringBitmap::from_sorted_iter(self.few).expect("sorted, each once");
        }
        RoaringBitmap::from_lsb0_bytes(self.first, &self.marks)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::DocidSet;

    proptest! {
        #[test]
        fn a_set_holds_the_added_docids(docids in proptest::collection::vec(1_000u32..9_000, 0..600)) {
            let mut set = DocidSet::new(1_000, 8_999);
            docids.iter().for_each(|&docid| set.add(docid));
            let found: BTreeSet<u32> = set.finish().into_iter().collect();
            prop_assert_eq!(found, docids.into_iter().collect::<BTreeSet<u32>>());
        }
    }
}
