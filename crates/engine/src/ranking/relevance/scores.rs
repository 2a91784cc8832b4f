//! Scores documents for the terms of a query.
//!
//! The derivations of all terms are read in passes. Once the passes that are left cannot bring an unseen document among the
//! best, they are read for the documents alone that they still can bring there (MaxScore; Turtle and Flood, 1995). The first
//! passes are those that lower this bound most for each posting that is read: rare words, and last the frequent ones.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::derivations::{Group, GroupKind, Source, documents_with, groups, is_known};
use super::formula::{limited_pair, pairs_max, rarity, score_max, score_of, weights};
use super::frequencies::{Frequencies, FrequencyReader};
use super::lists::{ListKey, ScoreList, documents_of, keep_documents};
use super::nearness::{Pairs, pairs};
use super::sums::{Growth, Sums};
use crate::error::Result;
use crate::postings::{Reading, Targets};
use crate::query::{QueryGraph, Slots, Term, TermNode, TermResolver};

/// Scores of the documents of an index. They depend on its live documents alone.
pub(in crate::ranking) struct Scores<'a> {
    resolver: &'a TermResolver<'a>,
    /// In the order of reading.
    passes: Vec<Pass<'a>>,
    /// Weights of the terms among the words of the query; 0 if a term consists of words that count themselves.
    weights: Vec<u32>,
    /// Sum of the highest scores of all terms and pairs.
    max: u32,
    pairs: Pairs,
    frequencies: FrequencyReader<'a>,
}

/// Derivations of a term with the same weight. A document has the best score of all passes of a term.
struct Pass<'a> {
    term: usize,
    /// The highest possible score.
    max: u32,
    /// No document has a higher score.
    bound: u32,
    /// Upper bound of the postings to read.
    postings: u64,
    /// True if no pass of the term follows.
    is_last: bool,
    source: Source<'a>,
    /// Key of the cached scores; None if they depend on the request and are not cached.
    key: Option<ListKey<'a>>,
    /// Scores of all documents, if they are known.
    list: Option<Arc<ScoreList>>,
}

impl<'a> Scores<'a> {
    /// Prepares scores for the terms of `graph`, in the searched fields.
    pub(in crate::ranking) fn new(resolver: &'a TermResolver<'a>, graph: &'a QueryGraph) -> Result<Self> {
        let mut scores = Self {
            resolver,
            passes: Vec::new(),
            weights: Vec::new(),
            max: 0,
            pairs: Pairs::default(),
            frequencies: FrequencyReader::new(resolver)?,
        };
        let mut rarities: FxHashMap<&str, f64> = FxHashMap::default();
        for node in distinct_nodes(resolver, graph) {
            let term = resolver.term(node);
            let rare = scores.add_term(term)?;
            if term.parts.is_none() && term.phrase.is_none() {
                rarities.insert(&term.text, rare);
            }
        }
        scores.max = scores.weights.iter().sum();
        scores.order_passes();
        scores.pairs = pairs(resolver, graph, &rarities);
        let words = scores.weights.iter().filter(|weight| **weight > 0).count() as u64;
        let most = pairs_max(u64::from(scores.max), words);
        let separate = scores.pairs.pairs.iter().filter(|pair| !pair.is_attached);
        let all: u64 = separate.map(|pair| u64::from(pair.max)).sum();
        for pair in &mut scores.pairs.pairs {
            if !pair.is_attached {
                pair.max = limited_pair(pair.max, all, most);
            }
            scores.max += pair.max;
        }
        Ok(scores)
    }

    /// Adds the passes of a term. Returns its rarity.
    fn add_term(&mut self, term: &'a Term) -> Result<f64> {
        let postings = self.resolver.postings;
        let groups = groups(term);
        let (found, reads) = self.count(term, &groups)?;
        let rare = rarity(postings.snapshot().documents().len(), found);
        let whole = if term.parts.is_none() { score_max(weights::EXACT, rare) } else { 0 };
        self.weights.push(whole);
        let mut reads = reads.into_iter();
        for Group { kind, weight, source } in groups {
            let max = score_max(weight, rare);
            let is_cached = kind != GroupKind::Phrases && self.resolver.within().is_none();
            let mut pass = Pass {
                term: self.weights.len() - 1,
                max,
                bound: max,
                postings: 0,
                is_last: true,
                key: is_cached.then(|| ListKey::new(term, kind, max)),
                list: None,
                source,
            };
            pass.list = match reads.next() {
                Some(read) => Some(self.list(&pass, &read)),
                None => pass.key.as_ref().and_then(|key| key.get(postings)),
            };
            if let Some(list) = &pass.list {
                (pass.bound, pass.postings) = (list.highest, list.scores.len() as u64);
            } else {
                if let Some(frequency) = self.frequencies.highest(&pass.source) {
                    pass.bound = score_of(max, frequency);
                }
                pass.postings = self.frequencies.postings_of(&pass.source)?;
            }
            self.passes.push(pass);
        }
        Ok(rare)
    }

    /// Returns the number of documents with the word or its other forms; if there are none, of documents with any
    /// derivation. Returns the frequencies of each group too, if they were read.
    fn count(&self, term: &Term, groups: &[Group]) -> Result<(u64, Vec<Frequencies>)> {
        let postings = self.resolver.postings;
        let reading = Reading { forgiving: term.parts.is_some(), within: self.resolver.within() };
        let has_phrases = groups.iter().any(|group| group.kind == GroupKind::Phrases);
        let is_cached = reading.within.is_none() && term.phrase.is_none();
        if is_cached && let Some(found) = documents_of(term, has_phrases, postings) {
            return Ok((found, Vec::new()));
        }
        let mut reads: Vec<Frequencies> = Vec::new();
        let mut found = if is_known(term) { documents_with(term, reading, postings)? } else { 0 };
        // The phrases of a term depend on the rest of the query.
        let is_kept = is_cached && (found > 0 || !has_phrases);
        if found == 0 {
            let mut docs = RoaringBitmap::new();
            for Group { source, .. } in groups {
                let read = self.frequencies.read(source, None)?;
                docs.extend(read.iter().map(|(docid, _)| docid));
                reads.push(read);
            }
            found = docs.len();
        }
        if is_kept {
            keep_documents(term, has_phrases, found, postings);
        }
        Ok((found, reads))
    }

    /// Orders passes: first those that most lower what the others can add, for each posting.
    fn order_passes(&mut self) {
        self.passes.sort_by_key(|pass| (pass.term, Reverse(pass.bound)));
        let mut gains: Vec<f64> = Vec::with_capacity(self.passes.len());
        for at in 0..self.passes.len() {
            let next = self.passes.get(at + 1).filter(|next| next.term == self.passes[at].term);
            let gain = f64::from(self.passes[at].bound - next.map_or(0, |next| next.bound));
            let is_last = next.is_none();
            let pass = &mut self.passes[at];
            pass.is_last = is_last;
            // Within a term the order stays.
            let gain = gain / pass.postings.max(1) as f64;
            let before =
                gains.last().copied().filter(|_| at > 0 && self.passes[at - 1].term == self.passes[at].term);
            gains.push(before.map_or(gain, |before| gain.min(before)));
        }
        let mut ordered: Vec<(f64, Pass)> = gains.into_iter().zip(std::mem::take(&mut self.passes)).collect();
        ordered.sort_by(|(left, _), (right, _)| right.total_cmp(left));
        self.passes = ordered.into_iter().map(|(_, pass)| pass).collect();
    }

    /// Returns the best `count` documents of `universe` by their scores without nearness, best first; of equal ones, the
    /// smaller docids.
    pub(in crate::ranking) fn best(&self, universe: &RoaringBitmap, count: usize) -> Result<Vec<(u32, u32)>> {
        let mut sums = self.no_sums();
        let mut targets: Option<Targets> = None;
        if universe.len() <= count as u64 {
            sums.keep(universe);
            targets = Some(Targets::new(self.resolver.postings, Cow::Borrowed(universe)));
        }
        for (at, pass) in self.passes.iter().enumerate() {
            let rest = self.rest_max(at);
            if sums.may_exclude(pass.postings, rest)
                && sums.exclude(universe, count, rest)
                && let Some(left) = sums.left()
                && targets.as_ref().is_none_or(|targets| targets.docs().len() >= 2 * left.len() as u64)
            {
                let fewer = targets.insert(Targets::of_docids(self.resolver.postings, &left));
                sums.forget(fewer.contains());
            }
            self.add(pass, targets.as_mut(), &mut sums)?;
        }
        Ok(sums.top(universe, count))
    }

    /// Returns the scores of all documents without nearness.
    pub(in crate::ranking) fn all(&self) -> Result<Sums<'_>> {
        let mut sums = self.no_sums();
        for pass in &self.passes {
            self.add(pass, None, &mut sums)?;
        }
        Ok(sums)
    }

    fn no_sums(&self) -> Sums<'_> {
        let snapshot = self.resolver.postings.snapshot();
        let bound = snapshot.documents().max().map_or(0, |last| last as usize + 1);
        Sums::new(bound, &self.weights, snapshot.cache())
    }

    /// Returns how much the passes from `next` on can add to the score of a document.
    fn rest_max(&self, next: usize) -> Growth {
        let mut by_term = vec![0; self.weights.len()];
        for pass in &self.passes[next..] {
            by_term[pass.term] = pass.bound.max(by_term[pass.term]);
        }
        let found = by_term.iter().zip(&self.weights).filter(|(max, _)| **max > 0).map(|(_, weight)| weight);
        Growth { found: found.sum(), sum: by_term.iter().sum() }
    }

    /// Adds the scores of a pass, of target documents alone if given.
    fn add(&self, pass: &Pass, targets: Option<&mut Targets>, sums: &mut Sums) -> Result<()> {
        let &Pass { term, is_last, max, .. } = pass;
        let known = match &pass.list {
            Some(list) => Some(Arc::clone(list)),
            None if self.is_read_completely(pass, targets.as_deref()) => {
                Some(self.list(pass, &self.frequencies.read(&pass.source, None)?))
            }
            None => None,
        };
        match (known, targets) {
            (Some(list), None) => sums.add(term, is_last, list.scores.iter().copied()),
            (Some(list), Some(targets)) => {
                sums.add(term, is_last, list.of_targets(targets).into_iter());
            }
            (None, targets) => {
                let frequencies = self.frequencies.read(&pass.source, targets)?;
                let scored = |&(docid, frequency): &(u32, u64)| (docid, score_of(max, frequency));
                sums.add(term, is_last, frequencies.iter().map(scored));
            }
        }
        Ok(())
    }

    /// Returns true if all postings of a pass are to be read. Then later searches need not decode them again.
    fn is_read_completely(&self, pass: &Pass, targets: Option<&Targets>) -> bool {
        let Some(targets) = targets else { return true };
        let key = pass.key.as_ref();
        key.is_some_and(|key| key.is_due(targets.docs().len(), pass.postings, self.resolver.postings))
    }

    /// Scores the documents of a pass and caches the scores, unless they depend on the request.
    fn list(&self, pass: &Pass, frequencies: &Frequencies) -> Arc<ScoreList> {
        let list = ScoreList::new(pass.max, frequencies);
        match &pass.key {
            Some(key) => key.insert(list, self.resolver.postings),
            None => Arc::new(list),
        }
    }

    /// Returns the highest possible score.
    pub(in crate::ranking) fn max(&self) -> u32 {
        self.max
    }

    /// Returns true if words of the query may be near each other.
    pub(in crate::ranking) fn has_pairs(&self) -> bool {
        !self.pairs.pairs.is_empty()
    }

    /// Returns what nearness of words adds to the scores of documents; documents without such words are left out.
    pub(in crate::ranking) fn nearness(&self, docs: &RoaringBitmap) -> Result<FxHashMap<u32, u32>> {
        self.pairs.scores(self.resolver, |docid, field| self.frequencies.unit(docid, field), docs)
    }
}

/// Returns nodes with different texts; single words before joined ones.
fn distinct_nodes<'g>(resolver: &TermResolver, graph: &'g QueryGraph) -> Vec<&'g TermNode> {
    let mut known: FxHashSet<(&str, Option<&Slots>)> = FxHashSet::default();
    let is_joined = |node: &TermNode| resolver.term(node).parts.is_some();
    let nodes = || graph.nodes().map(|(_, node)| node);
    let ordered = nodes().filter(|node| !is_joined(node)).chain(nodes().filter(|node| is_joined(node)));
    ordered
        .filter(|node| {
            let term = resolver.term(node);
            known.insert((&term.text, term.phrase.as_ref()))
        })
        .collect()
}
