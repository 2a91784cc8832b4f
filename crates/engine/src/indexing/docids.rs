//! Allocates the lowest free docids for new documents.

use roaring::RoaringBitmap;

/// Docids in use, and the lowest free docid.
#[derive(Clone, Default)]
pub(super) struct DocidAllocator {
    pub used: RoaringBitmap,
    lowest_free: u32,
}

impl DocidAllocator {
    /// Creates an allocator with the docids `used` taken.
    pub fn new(used: RoaringBitmap) -> Self {
        let lowest_free = lowest_gap(&used);
        Self { used, lowest_free }
    }

    /// Takes the lowest free docid.
    pub fn take(&mut self) -> u32 {
        while self.used.contains(self.lowest_free) {
            self.lowest_free += 1;
        }
        self.used.insert(self.lowest_free);
        self.lowest_free
    }

    /// Frees a docid.
    pub fn free(&mut self, docid: u32) {
        self.used.remove(docid);
        self.lowest_free = self.lowest_free.min(docid);
    }
}

/// Returns the lowest number that is not in a set, found by bisection.
fn lowest_gap(used: &RoaringBitmap) -> u32 {
    let (mut low, mut high) = (0, used.len() as u32);
    while low < high {
        let middle = low.midpoint(high);
        // If the set has `middle + 1` numbers up to `middle`, no number is missing there.
        if used.rank(middle) == u64::from(middle) + 1 { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_gap_is_found_at_any_position() {
        for gap in [0, 1, 63, 64, 65_535, 65_536, 100_000] {
            let mut used: RoaringBitmap = (0..200_000).collect();
            used.remove(gap);
            used.remove(150_000);
            assert_eq!(lowest_gap(&used), gap);
            used.remove_range(gap..);
            assert_eq!(lowest_gap(&used), gap);
        }
    }
}
