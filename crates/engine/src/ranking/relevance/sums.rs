//! Adds up the scores of documents, term by term.

use roaring::RoaringBitmap;

/// Sums of scores by document.
pub(in crate::ranking) struct Sums {
    /// By docid.
    sums: Vec<u32>,
    /// Documents with a sum, in order of their first score.
    documents: Vec<u32>,
    /// By term: documents and their best score so far, ascending.
    best: Vec<Vec<(u32, u32)>>,
    /// No sum is greater.
    greatest: u32,
}

impl Sums {
    /// `bound` is above all docids.
    pub(super) fn new(bound: usize, terms: usize) -> Self {
        Self { sums: vec![0; bound], documents: Vec::new(), best: vec![Vec::new(); terms], greatest: 0 }
    }

    /// Returns the sum of a document.
    pub(in crate::ranking) fn of(&self, docid: u32) -> u32 {
        self.sums[docid as usize]
    }

    /// Adds scores for a term, by ascending docid. A document has its best score for a term.
    pub(super) fn add(&mut self, term: usize, scores: impl Iterator<Item = (u32, u32)>) {
        let mut known = std::mem::take(&mut self.best[term]).into_iter().peekable();
        let mut merged = Vec::with_capacity(known.len() + scores.size_hint().0);
        for (docid, score) in scores {
            while let Some(before) = known.next_if(|(other, _)| *other < docid) {
                merged.push(before);
            }
            let before = known.next_if(|(other, _)| *other == docid).map_or(0, |(_, score)| score);
            if score > before {
                let sum = &mut self.sums[docid as usize];
                if *sum == 0 {
                    self.documents.push(docid);
                }
                *sum += score - before;
                self.greatest = self.greatest.max(*sum);
            }
            merged.push((docid, score.max(before)));
        }
        merged.extend(known);
        self.best[term] = merged;
    }

    /// Returns the documents of `universe` that can still be among the best `count` if no sum grows by more than `rest`.
    /// Returns None if documents without a sum can be among them too.
    pub(super) fn candidates(
        &self,
        universe: &RoaringBitmap,
        count: usize,
        rest: u32,
    ) -> Option<RoaringBitmap> {
        // No document can be excluded, so the sums need not be read.
        if rest >= self.greatest || self.documents.len() < count {
            return None;
        }
        let seen: Vec<u32> =
            self.documents.iter().copied().filter(|docid| universe.contains(*docid)).collect();
        let last = count.checked_sub(1).filter(|last| *last < seen.len())?;
        let mut sums: Vec<u32> = seen.iter().map(|docid| self.of(*docid)).collect();
        let (_, least, _) = sums.select_nth_unstable_by(last, |a, b| b.cmp(a));
        let least = *least;
        if rest >= least {
            return None;
        }
        let can_rise = |docid: &u32| u64::from(self.of(*docid)) + u64::from(rest) >= u64::from(least);
        Some(seen.into_iter().filter(can_rise).collect())
    }

    /// Returns the documents of `universe` with a sum.
    pub(super) fn documents(&self, universe: &RoaringBitmap) -> RoaringBitmap {
        self.documents.iter().copied().filter(|docid| universe.contains(*docid)).collect()
    }

    /// Forgets all documents except `docs`.
    pub(super) fn keep(&mut self, docs: &RoaringBitmap) {
        self.documents.retain(|docid| docs.contains(*docid));
        for best in &mut self.best {
            best.retain(|(docid, _)| docs.contains(*docid));
        }
    }
}
