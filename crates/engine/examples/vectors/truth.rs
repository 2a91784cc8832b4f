//! Finds the nearest ten vectors by comparing all. Independent of the engine, which it judges.

use roaring::RoaringBitmap;

use crate::FIRST;

/// Vectors, prepared for comparison.
pub struct Truth<'r> {
    rows: &'r [Vec<f32>],
    lengths: Vec<f32>,
}

/// Similarity of a query to each document.
pub struct Similarities(Vec<f32>);

impl<'r> Truth<'r> {
    pub fn new(rows: &'r [Vec<f32>]) -> Self {
        Self { rows, lengths: rows.iter().map(|row| product(row, row).sqrt()).collect() }
    }

    /// Compares `query` with all vectors.
    pub fn similarities(&self, query: &[f32]) -> Similarities {
        let length = product(query, query).sqrt();
        let all = self.rows.iter().zip(&self.lengths);
        Similarities(all.map(|(row, other)| product(query, row) / (length * other)).collect())
    }
}

impl Similarities {
    /// Returns the number of documents in the first ten of `within`, and how many of `found` are as near as the last of
    /// these.
    pub fn judge(&self, within: &RoaringBitmap, found: &[u32]) -> (usize, usize) {
        let mut best: Vec<f32> = Vec::with_capacity(FIRST + 1);
        for docid in within {
            let similarities = self.0[docid as usize];
            if best.len() == FIRST && similarities <= best[FIRST - 1] {
                continue;
            }
            let at = best.partition_point(|known| *known >= similarities);
            best.insert(at, similarities);
            best.truncate(FIRST);
        }
        // Documents at the same distance count as equal. The errors of sums are below this tolerance.
        let least = best.last().copied().unwrap_or(f32::INFINITY) - 1e-5;
        (best.len(), found.iter().filter(|docid| self.0[**docid as usize] >= least).count())
    }
}

fn product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}
