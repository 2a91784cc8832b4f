//! Adds up the scores of documents, term by term.

use std::sync::{Arc, Mutex, PoisonError};

use roaring::RoaringBitmap;

use super::formula::covered;
use crate::cache::{Owner, cached};
use crate::store::ascending;

cached! {
    SumsByDocument: () => Mutex<Vec<Total>>, |(), totals| {
        size_of_val(totals.lock().unwrap_or_else(PoisonError::into_inner).as_slice())
    };
}

/// Sums of scores by document.
pub(in crate::ranking) struct Sums<'c> {
    /// By docid.
    totals: Vec<Total>,
    /// By term; 0 for joined words, which count as terms of their own.
    weights: Vec<u32>,
    all: u32,
    /// Documents that were scored, in order of their first score.
    documents: Vec<u32>,
    /// Documents that are not excluded; None until some are.
    left: Option<Vec<u32>>,
    /// By term: documents and their best score so far, ascending.
    best: Vec<Vec<(u32, u32)>>,
    /// Upper bound of all sums.
    greatest: u32,
    /// Least score of the best documents at the last exclusion.
    least: u32,
    cache: &'c Owner,
}

/// Scores of one document.
#[derive(Clone, Copy, Default)]
struct Total {
    sum: u32,
    /// Weight of the words found.
    found: u32,
}

/// How much scores can grow.
#[derive(Clone, Copy, Default)]
pub(super) struct Growth {
    pub(super) sum: u32,
    /// Weight of words that may be found.
    pub(super) found: u32,
}

impl<'c> Sums<'c> {
    /// `bound` is above all docids; `weights` are those of the terms. Takes the array that an earlier search left in `cache`,
    /// because new memory takes longer to fill.
    pub(super) fn new(bound: usize, weights: &[u32], cache: &'c Owner) -> Self {
        let kept = cache.get::<SumsByDocument>(&());
        let kept = kept.map(|kept| std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner)));
        let totals = kept.filter(|totals| totals.len() == bound);
        Self {
            totals: totals.unwrap_or_else(|| vec![Total::default(); bound]),
            weights: weights.to_vec(),
            all: weights.iter().sum(),
            documents: Vec::new(),
            left: None,
            best: vec![Vec::new(); weights.len()],
            greatest: 0,
            least: 0,
            cache,
        }
    }

    /// Returns the score of a document.
    pub(in crate::ranking) fn of(&self, docid: u32) -> u32 {
        self.reachable(docid, Growth::default())
    }

    /// Returns the highest score that a document can reach.
    fn reachable(&self, docid: u32, rest: Growth) -> u32 {
        self.grown(self.totals[docid as usize], rest)
    }

    fn grown(&self, Total { sum, found }: Total, rest: Growth) -> u32 {
        covered(sum + rest.sum, (found + rest.found).min(self.all), self.all)
    }

    /// Adds scores for a term, by ascending docid. A document has its best score for a term. `is_last` is true if no more
    /// scores follow for the term.
    pub(super) fn add(&mut self, term: usize, is_last: bool, scores: impl Iterator<Item = (u32, u32)>) {
        let mut known = std::mem::take(&mut self.best[term]).into_iter().peekable();
        let mut merged = Vec::new();
        if !is_last {
            merged.reserve(known.len() + scores.size_hint().0);
        }
        for (docid, score) in scores {
            while let Some(before) = known.next_if(|(other, _)| *other < docid) {
                if !is_last {
                    merged.push(before);
                }
            }
            let before = known.next_if(|(other, _)| *other == docid).map_or(0, |(_, score)| score);
            if score > before {
                let total = &mut self.totals[docid as usize];
                if total.sum == 0 {
                    self.documents.push(docid);
                }
                total.sum += score - before;
                if before == 0 {
                    total.found += self.weights[term];
                }
                self.greatest = self.greatest.max(total.sum);
            }
            if !is_last {
                merged.push((docid, score.max(before)));
            }
        }
        if !is_last {
            merged.extend(known);
            self.best[term] = merged;
        }
    }

    /// Returns true if a search for documents to [exclude](Self::exclude) may save time before a pass over `postings`
    /// postings. The search visits every scored document. It finds nothing while no sum is above what an unscored
    /// document can reach.
    pub(super) fn may_exclude(&self, postings: u64, rest: Growth) -> bool {
        let documents = self.left.as_ref().unwrap_or(&self.documents).len() as u64;
        documents <= postings && self.greatest > self.grown(Total::default(), rest)
    }

    /// Excludes documents of `universe` that cannot be among the best `count` if no score grows by more than `rest`. Returns
    /// false if documents without a score can be among them.
    pub(super) fn exclude(&mut self, universe: &RoaringBitmap, count: usize, rest: Growth) -> bool {
        let unseen = self.grown(Total::default(), rest).max(self.least.saturating_sub(1));
        let (known, is_left) = match &self.left {
            Some(left) => (left, true),
            None => (&self.documents, false),
        };
        // The universe is tested last, because this test takes longest.
        let counts = |docid: u32| is_left || universe.contains(docid);
        let better = known.iter().filter(|docid| self.totals[**docid as usize].sum > unseen);
        let mut scores: Vec<u32> = better
            .filter_map(|&docid| Some(self.of(docid)).filter(|score| *score > unseen && counts(docid)))
            .collect();
        if scores.len() < count {
            return false;
        }
        let (_, least, _) = scores.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
        let least = *least;
        let can_rise = |docid: &u32| {
            self.totals[*docid as usize].sum + rest.sum >= least
                && self.reachable(*docid, rest) >= least
                && counts(*docid)
        };
        let left: Vec<u32> = known.iter().copied().filter(can_rise).collect();
        self.least = least;
        self.left = Some(left);
        true
    }

    /// Excludes all documents except `docs`.
    pub(super) fn keep(&mut self, docs: &RoaringBitmap) {
        self.left = Some(ascending(docs));
    }

    /// Returns the documents that are not excluded, in no particular order. None if no document was excluded.
    pub(super) fn left(&self) -> Option<&[u32]> {
        self.left.as_deref()
    }

    /// Forgets the scores by term of documents that will not get more of them.
    pub(super) fn forget(&mut self, gets_more: impl Fn(u32) -> bool) {
        for best in &mut self.best {
            best.retain(|(docid, _)| gets_more(*docid));
        }
    }

    /// Returns the best `count` documents of `universe` and their scores; of equal ones, the smaller docids.
    pub(super) fn top(mut self, universe: &RoaringBitmap, count: usize) -> Vec<(u32, u32)> {
        let is_decided = self.exclude(universe, count, Growth::default()) || self.left.is_some();
        let documents = self.left.as_ref().unwrap_or(&self.documents).iter().copied();
        let mut top: Vec<(u32, u32)> = documents
            .filter(|docid| is_decided || universe.contains(*docid))
            .map(|docid| (docid, self.of(docid)))
            .collect();
        top.sort_unstable_by_key(|&(docid, score)| (std::cmp::Reverse(score), docid));
        top.truncate(count);
        top
    }
}

impl Drop for Sums<'_> {
    fn drop(&mut self) {
        for docid in &self.documents {
            self.totals[*docid as usize] = Total::default();
        }
        let totals = std::mem::take(&mut self.totals);
        match self.cache.get::<SumsByDocument>(&()) {
            Some(kept) => *kept.lock().unwrap_or_else(PoisonError::into_inner) = totals,
            None => self.cache.insert::<SumsByDocument>((), &Arc::new(Mutex::new(totals))),
        }
    }
}
