//! Scores of all documents that match by a group of derivations, cached per commit.
//!
//! Words recur in other queries. Reading a cached list takes a fraction of the time of decoding postings, looking up the
//! lengths of attributes and dividing.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::derivations::GroupKind;
use super::formula::score_of;
use super::frequencies::Frequencies;
use crate::cache::{Both, cached};
use crate::postings::{Postings, SKIP_COST, Targets};
use crate::query::{DerivationKey, Term};

cached! {
    ScoreLists: (DerivationKey<Box<str>>, Group) => ScoreList, |(of, _), list| {
        of.text.len() + size_of_val(&*list.scores)
    };
    ScoreReads: (DerivationKey<Box<str>>, Group) => AtomicU64, |(of, _), _| of.text.len();
    // By term; true if it was joined, and true if it has phrases.
    TermDocuments: (DerivationKey<Box<str>>, (bool, bool)) => u64, |(of, _), _| of.text.len();
}

/// Kind of derivations, true if the term was joined, and the highest possible score.
type Group = (GroupKind, bool, u32);

/// Documents and their scores.
pub(super) struct ScoreList {
    /// By ascending docid.
    pub(super) scores: Vec<(u32, u32)>,
    /// The highest score.
    pub(super) highest: u32,
}

impl ScoreList {
    /// `max` is the highest possible score.
    pub(super) fn new(max: u32, frequencies: &Frequencies) -> Self {
        let scores = frequencies.iter().map(|&(docid, frequency)| (docid, score_of(max, frequency)));
        let scores: Vec<(u32, u32)> = scores.collect();
        let highest = scores.iter().map(|(_, score)| *score).max().unwrap_or(0);
        Self { scores, highest }
    }

    /// Returns the scores of target documents, by ascending docid.
    pub(super) fn of_targets(&self, targets: &mut Targets) -> Vec<(u32, u32)> {
        if targets.docs().len() * SKIP_COST > self.scores.len() as u64 {
            let is_target = targets.contains();
            return self.scores.iter().copied().filter(|(docid, _)| is_target(*docid)).collect();
        }
        let mut rest = self.scores.as_slice();
        let mut found = Vec::new();
        for target in targets.docs() {
            // Targets are far from each other. So the search for the next one goes in growing steps.
            let is_before = |(docid, _): &(u32, u32)| *docid < target;
            let mut reach = 1;
            while rest.get(reach).is_some_and(is_before) {
                reach *= 2;
            }
            rest = &rest[rest[..rest.len().min(reach + 1)].partition_point(is_before)..];
            match rest.first() {
                Some(&scored) if scored.0 == target => found.push(scored),
                Some(_) => {}
                None => break,
            }
        }
        found
    }
}

/// Identifies a cached list within a commit.
pub(super) struct ListKey<'t> {
    term: DerivationKey<&'t str>,
    group: Group,
}

impl<'t> ListKey<'t> {
    /// `max` is the highest possible score.
    pub(super) fn new(term: &'t Term, kind: GroupKind, max: u32) -> Self {
        Self { term: term.key(), group: (kind, term.parts.is_some(), max) }
    }

    pub(super) fn get(&self, postings: &Postings) -> Option<Arc<ScoreList>> {
        postings.cache().get::<ScoreLists>(&Both(&self.term, &self.group))
    }

    pub(super) fn insert(&self, list: ScoreList, postings: &Postings) -> Arc<ScoreList> {
        postings.insert::<ScoreLists>((self.term.to_owned(), self.group), list)
    }

    /// Counts the documents of this list that searches read one by one. Returns true once they are as many as all its
    /// postings.
    pub(super) fn is_due(&self, read: u64, all: u64, postings: &Postings) -> bool {
        let owned = || (self.term.to_owned(), self.group);
        postings.add::<ScoreReads>(&Both(&self.term, &self.group), owned, read) >= all
    }
}

/// Returns the number of documents that [`keep_documents`] kept for a term.
pub(super) fn documents_of(term: &Term, has_phrases: bool, postings: &Postings) -> Option<u64> {
    let how = (term.parts.is_some(), has_phrases);
    postings.cache().get::<TermDocuments>(&Both(&term.key(), &how)).map(|found| *found)
}

/// Caches the number of documents that decides how rare a term is.
pub(super) fn keep_documents(term: &Term, has_phrases: bool, found: u64, postings: &Postings) {
    postings.insert::<TermDocuments>((term.key().to_owned(), (term.parts.is_some(), has_phrases)), found);
}
