//! Which are the first ten, by looking at all? Written apart from the engine, which it judges.

use roaring::RoaringBitmap;

use crate::FIRST;

/// Vectors, ready to be compared.
pub struct Truth<'r> {
    rows: &'r [Vec<f32>],
    lengths: Vec<f32>,
}

/// What a query is like, by document.
pub struct Likeness(Vec<f32>);

impl<'r> Truth<'r> {
    pub fn new(rows: &'r [Vec<f32>]) -> Self {
        Self { rows, lengths: rows.iter().map(|row| product(row, row).sqrt()).collect() }
    }

    /// Compares `query` with all.
    pub fn likeness(&self, query: &[f32]) -> Likeness {
        let length = product(query, query).sqrt();
        let all = self.rows.iter().zip(&self.lengths);
        Likeness(all.map(|(row, other)| product(query, row) / (length * other)).collect())
    }
}

impl Likeness {
    /// Of the first ten of `within`, how many are due, and how many of `found` are as near as the last of them.
    pub fn judge(&self, within: &RoaringBitmap, found: &[u32]) -> (usize, usize) {
        let mut best: Vec<f32> = Vec::with_capacity(FIRST + 1);
        for docid in within {
            let likeness = self.0[docid as usize];
            if best.len() == FIRST && likeness <= best[FIRST - 1] {
                continue;
            }
            let at = best.partition_point(|known| *known >= likeness);
            best.insert(at, likeness);
            best.truncate(FIRST);
        }
        // Equally distant documents are as good; what the sums lose is below this.
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
