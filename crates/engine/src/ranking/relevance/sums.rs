//! Adds up the scores of documents, term by term.

use roaring::RoaringBitmap;

use super::formula::covered;

/// Sums of scores by document.
pub(in crate::ranking) struct Sums {
    /// By docid.
    sums: Vec<u32>,
    /// Weight of the words found, by docid.
    found: Vec<u32>,
    /// By term; 0 if the term consists of words that count themselves.
    weights: Vec<u32>,
    all: u32,
    /// Documents with a sum, in order of their first score.
    documents: Vec<u32>,
    /// By term: documents and their best score so far, ascending.
    best: Vec<Vec<(u32, u32)>>,
    /// No score is greater.
    greatest: u32,
}

/// How much scores can grow.
#[derive(Clone, Copy)]
pub(super) struct Growth {
    pub(super) sum: u32,
    /// Weight of words that may be found.
    pub(super) found: u32,
}

impl Sums {
    /// `bound` is above all docids; `weights` are those of the terms.
    pub(super) fn new(bound: usize, weights: &[u32]) -> Self {
        Self {
            sums: vec![0; bound],
            found: vec![0; bound],
            weights: weights.to_vec(),
            all: weights.iter().sum(),
            documents: Vec::new(),
            best: vec![Vec::new(); weights.len()],
            greatest: 0,
        }
    }

    /// Returns the score of a document.
    pub(in crate::ranking) fn of(&self, docid: u32) -> u32 {
        covered(self.sums[docid as usize], self.found[docid as usize], self.all)
    }

    /// Returns the highest score that a document can reach.
    fn reachable(&self, sum: u32, found: u32, rest: Growth) -> u32 {
        covered(sum + rest.sum, (found + rest.found).min(self.all), self.all)
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
                if before == 0 {
                    self.found[docid as usize] += self.weights[term];
                }
                self.greatest = self.greatest.max(self.of(docid));
            }
            merged.push((docid, score.max(before)));
        }
        merged.extend(known);
        self.best[term] = merged;
    }

    /// Returns the documents of `universe` that can still be among the best `count` if no score grows by more than `rest`.
    /// Returns None if documents without a sum can be among them too.
    pub(super) fn candidates(
        &self,
        universe: &RoaringBitmap,
        count: usize,
        rest: Growth,
    ) -> Option<RoaringBitmap> {
        // No document can be excluded, so the sums need not be read.
        let unseen = self.reachable(0, 0, rest);
        if unseen >= self.greatest || self.documents.len() < count {
            return None;
        }
        let seen: Vec<u32> =
            self.documents.iter().copied().filter(|docid| universe.contains(*docid)).collect();
        let last = count.checked_sub(1).filter(|last| *last < seen.len())?;
        let mut scores: Vec<u32> = seen.iter().map(|docid| self.of(*docid)).collect();
        let (_, least, _) = scores.select_nth_unstable_by(last, |a, b| b.cmp(a));
        let least = *least;
        if unseen >= least {
            return None;
        }
        let can_rise = |docid: &u32| {
            let at = *docid as usize;
            self.reachable(self.sums[at], self.found[at], rest) >= least
        };
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
