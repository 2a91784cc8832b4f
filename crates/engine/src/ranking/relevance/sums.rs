//! Adds up the scores of documents, term by term.
//!
//! The sums of scored documents lie next to each other, so that comparing all of them is fast. An array by docid says where
//! the sum of a document is. Each look into it waits for memory, because the documents of a word are far from each other.

use std::sync::{Arc, Mutex, PoisonError};

use roaring::RoaringBitmap;

use super::formula::{covered, is_covered};
use crate::cache::{Owner, cached};

cached! {
    SumsByDocument: () => Mutex<Vec<u32>>, |(), places| {
        size_of_val(places.lock().unwrap_or_else(PoisonError::into_inner).as_slice())
    };
}

/// Sums of scores by document.
pub(in crate::ranking) struct Sums<'c> {
    /// By docid: index into `totals`, if that total is of the document. Otherwise the document has no score, and the index
    /// is of an earlier search.
    places: Vec<u32>,
    /// In order of their first score.
    totals: Vec<Total>,
    /// By term; 0 for joined words, which count as terms of their own.
    weights: Vec<u32>,
    all: u32,
    /// Indexes into `totals` of documents that are not excluded, once some are.
    left: Option<Vec<u32>>,
    /// True if all documents of `left` are in the universe.
    is_left_within: bool,
    /// By term: documents and their best score so far, ascending.
    best: Vec<Vec<(u32, u32)>>,
    /// Upper bound of all sums.
    greatest: u32,
    /// Least score of the best documents at the last exclusion.
    least: u32,
    cache: &'c Owner,
}

/// Scores of one document.
#[derive(Clone, Copy)]
struct Total {
    docid: u32,
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

/// Number of documents that are looked up together.
const LOOKUPS: usize = 64;

impl<'c> Sums<'c> {
    /// `bound` is above all docids; `weights` are those of the terms. Takes the array that an earlier search left in `cache`,
    /// because new memory takes longer to fill.
    pub(super) fn new(bound: usize, weights: &[u32], cache: &'c Owner) -> Self {
        let kept = cache.get::<SumsByDocument>(&());
        let kept = kept.map(|kept| std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner)));
        let places = kept.filter(|places| places.len() == bound);
        Self {
            places: places.unwrap_or_else(|| vec![0; bound]),
            totals: Vec::new(),
            weights: weights.to_vec(),
            all: weights.iter().sum(),
            left: None,
            is_left_within: false,
            best: vec![Vec::new(); weights.len()],
            greatest: 0,
            least: 0,
            cache,
        }
    }

    /// Returns the score of a document.
    pub(in crate::ranking) fn of(&self, docid: u32) -> u32 {
        let total = self.totals.get(self.places[docid as usize] as usize);
        total.filter(|total| total.docid == docid).map_or(0, |total| self.score(total))
    }

    fn score(&self, total: &Total) -> u32 {
        covered(total.sum, total.found, self.all)
    }

    /// Returns the highest score of documents without a score so far.
    fn unseen(&self, rest: Growth) -> u32 {
        covered(rest.sum, rest.found.min(self.all), self.all)
    }

    /// Returns true if a document can reach the score `least`.
    fn reaches(&self, total: &Total, rest: Growth, least: u32) -> bool {
        is_covered(total.sum + rest.sum, (total.found + rest.found).min(self.all), self.all, least)
    }

    /// Adds scores for a term, by ascending docid, each once. A document has its best score for a term. `is_last` is true if
    /// no more scores follow for the term.
    pub(super) fn add(&mut self, term: usize, is_last: bool, mut scores: impl Iterator<Item = (u32, u32)>) {
        let mut known = std::mem::take(&mut self.best[term]).into_iter().peekable();
        let mut merged = Vec::new();
        if !is_last {
            merged.reserve(known.len() + scores.size_hint().0);
        }
        let mut some: Vec<(u32, u32)> = Vec::with_capacity(LOOKUPS);
        let mut places = [0u32; LOOKUPS];
        loop {
            some.clear();
            some.extend(scores.by_ref().take(LOOKUPS));
            if some.is_empty() {
                break;
            }
            // Nothing depends on these values yet, so the processor waits for several of them at once.
            for ((docid, _), place) in some.iter().zip(&mut places) {
                *place = self.places[*docid as usize];
            }
            for (&(docid, score), &place) in some.iter().zip(&places) {
                while let Some(before) = known.next_if(|(other, _)| *other < docid) {
                    if !is_last {
                        merged.push(before);
                    }
                }
                let before = known.next_if(|(other, _)| *other == docid).map_or(0, |(_, score)| score);
                if score > before {
                    let found = if before == 0 { self.weights[term] } else { 0 };
                    self.grow(docid, place, Growth { sum: score - before, found });
                }
                if !is_last {
                    merged.push((docid, score.max(before)));
                }
            }
        }
        if !is_last {
            merged.extend(known);
            self.best[term] = merged;
        }
    }

    fn grow(&mut self, docid: u32, place: u32, by: Growth) {
        let sum = match self.totals.get_mut(place as usize) {
            Some(total) if total.docid == docid => {
                total.sum += by.sum;
                total.found += by.found;
                total.sum
            }
            _ => {
                self.insert(Total { docid, sum: by.sum, found: by.found });
                by.sum
            }
        };
        self.greatest = self.greatest.max(sum);
    }

    fn insert(&mut self, total: Total) {
        self.places[total.docid as usize] = self.totals.len() as u32;
        self.totals.push(total);
    }

    /// Returns true if a search for documents to [exclude](Self::exclude) may save time before a pass over `postings`
    /// postings. The search visits every scored document. It finds nothing while no sum is above what an unscored
    /// document can reach.
    pub(super) fn may_exclude(&self, postings: u64, rest: Growth) -> bool {
        let documents = self.left.as_ref().map_or(self.totals.len(), Vec::len) as u64;
        documents <= postings && self.greatest > self.unseen(rest)
    }

    /// Excludes documents that cannot be among the best `count` of `universe` if no score grows by more than `rest`. Returns
    /// false if documents without a score can be among them.
    pub(super) fn exclude(&mut self, universe: &RoaringBitmap, count: usize, rest: Growth) -> bool {
        let unseen = self.unseen(rest).max(self.least.saturating_sub(1));
        let mut better: Vec<(u32, u32)> = Vec::new();
        self.each(|_, total| {
            if self.reaches(total, Growth::default(), unseen + 1) {
                better.push((self.score(total), total.docid));
            }
        });
        let Some(mut least) = least_of_best(&mut better, count) else { return false };
        // Usually the universe has all of the best documents. A test of each document takes long.
        if !self.is_left_within && better[..count].iter().any(|(_, docid)| !universe.contains(*docid)) {
            better.retain(|(_, docid)| universe.contains(*docid));
            match least_of_best(&mut better, count) {
                Some(least_within) => least = least_within,
                None => return false,
            }
            let mut within = Vec::new();
            self.each(|place, total| {
                if self.reaches(total, rest, least) && universe.contains(total.docid) {
                    within.push(place);
                }
            });
            self.left = Some(within);
            self.is_left_within = true;
        } else {
            let mut left = Vec::new();
            self.each(|place, total| {
                if self.reaches(total, rest, least) {
                    left.push(place);
                }
            });
            self.left = Some(left);
        }
        self.least = least;
        true
    }

    /// Calls `take` with the documents that are not excluded.
    fn each(&self, mut take: impl FnMut(u32, &Total)) {
        match &self.left {
            Some(left) => left.iter().for_each(|&place| take(place, &self.totals[place as usize])),
            None => (0..).zip(&self.totals).for_each(|(place, total)| take(place, total)),
        }
    }

    /// Excludes all documents except `docs`, the universe. None has a score yet.
    pub(super) fn keep(&mut self, docs: &RoaringBitmap) {
        for docid in docs {
            self.insert(Total { docid, sum: 0, found: 0 });
        }
        self.left = Some((0..self.totals.len() as u32).collect());
        self.is_left_within = true;
    }

    /// Returns the documents that are not excluded, in no particular order. None if no document was excluded.
    pub(super) fn left(&self) -> Option<Vec<u32>> {
        let left = self.left.as_ref()?;
        Some(left.iter().map(|&place| self.totals[place as usize].docid).collect())
    }

    /// Forgets the scores by term of documents that will not get more of them.
    pub(super) fn forget(&mut self, gets_more: impl Fn(u32) -> bool) {
        for best in &mut self.best {
            best.retain(|(docid, _)| gets_more(*docid));
        }
    }

    /// Returns the best `count` documents of `universe` and their scores; of equal ones, the smaller docids.
    pub(super) fn top(mut self, universe: &RoaringBitmap, count: usize) -> Vec<(u32, u32)> {
        self.exclude(universe, count, Growth::default());
        let mut top: Vec<(u32, u32)> = Vec::new();
        self.each(|_, total| {
            if self.is_left_within || universe.contains(total.docid) {
                top.push((total.docid, self.score(total)));
            }
        });
        top.sort_unstable_by_key(|&(docid, score)| (std::cmp::Reverse(score), docid));
        top.truncate(count);
        top
    }
}

/// Moves the `count` greatest to the front and returns the least of them; None if there are fewer.
fn least_of_best(scores: &mut [(u32, u32)], count: usize) -> Option<u32> {
    if scores.len() < count {
        return None;
    }
    let (_, (least, _), _) = scores.select_nth_unstable_by(count - 1, |(a, _), (b, _)| b.cmp(a));
    Some(*least)
}

impl Drop for Sums<'_> {
    fn drop(&mut self) {
        let places = std::mem::take(&mut self.places);
        match self.cache.get::<SumsByDocument>(&()) {
            Some(kept) => *kept.lock().unwrap_or_else(PoisonError::into_inner) = places,
            None => self.cache.insert::<SumsByDocument>((), &Arc::new(Mutex::new(places))),
        }
    }
}
