//! Scores documents for the terms of a query.
//!
//! The derivations of all terms are read in passes. Once the passes that are left cannot bring an unseen document among the
//! best, they are read for the documents alone that they still can bring there (MaxScore; Turtle and Flood, 1995). The first
//! passes are those that lower this bound most for each posting that is read: rare words, and last the frequent ones.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::derivations::{Group, Source, documents_with, forms, groups, is_known};
use super::formula::{frequency_units, limited_pair, pairs_max, rarity, score_max, score_of, weights};
use super::nearness::{Pairs, pairs};
use super::sums::{Growth, Sums};
use super::weights::attribute_weight;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::{FieldDocs, FieldLengths, Reading, Targets, Word};
use crate::query::{DerivationKinds, QueryGraph, Slots, Term, TermNode, TermResolver};
use crate::store::{DocidSet, ascending};

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
    lengths: Arc<Vec<(FieldId, FieldLengths)>>,
    /// Frequency of one occurrence in a field, by the code of its length; as `lengths`.
    units: Vec<Vec<u64>>,
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
    /// In the complete index, if they were read to count the documents of the term.
    read: Option<Frequencies>,
}

/// Documents and their frequencies, ascending.
type Frequencies = Vec<(u32, u64)>;

impl<'a> Scores<'a> {
    /// Prepares scores for the terms of `graph`, in the searched fields.
    pub(in crate::ranking) fn new(resolver: &'a TermResolver<'a>, graph: &'a QueryGraph) -> Result<Self> {
        let snapshot = resolver.postings.snapshot();
        let lengths = resolver.postings.lengths()?;
        let units = lengths.iter().map(|(field, lengths)| {
            let path = snapshot.fields().name(*field).unwrap_or_default();
            frequency_units(attribute_weight(&snapshot.settings().attribute_weights, path), lengths.average)
        });
        let mut scores = Self {
            resolver,
            passes: Vec::new(),
            weights: Vec::new(),
            max: 0,
            pairs: Pairs::default(),
            units: units.collect(),
            lengths: Arc::clone(&lengths),
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

    /// Adds the passes of a term. Returns its rarity: of documents with the word or its other forms; if there are none, of
    /// documents with any derivation.
    fn add_term(&mut self, term: &'a Term) -> Result<f64> {
        let postings = self.resolver.postings;
        let reading = Reading { forgiving: term.parts.is_some(), within: self.resolver.within() };
        let groups = groups(term);
        let mut reads: Vec<Option<Frequencies>> = Vec::new();
        let mut found = if is_known(term) { documents_with(term, reading, postings)? } else { 0 };
        if found == 0 {
            let mut docs = RoaringBitmap::new();
            for Group { source, .. } in &groups {
                let read = self.frequencies(source, None)?;
                docs.extend(read.iter().map(|(docid, _)| docid));
                reads.push(Some(read));
            }
            found = docs.len();
        }
        reads.resize_with(groups.len(), || None);
        let rare = rarity(postings.snapshot().documents().len(), found);
        let whole = if term.parts.is_none() { score_max(weights::EXACT, rare) } else { 0 };
        self.weights.push(whole);
        for (Group { weight, source }, read) in groups.into_iter().zip(reads) {
            let max = score_max(weight, rare);
            let highest = match &read {
                Some(read) => Some(read.iter().map(|(_, frequency)| *frequency).max().unwrap_or(0)),
                None => self.highest_frequency(&source),
            };
            let pass = Pass {
                term: self.weights.len() - 1,
                max,
                bound: highest.map_or(max, |frequency| score_of(max, frequency)),
                postings: match &read {
                    Some(read) => read.len() as u64,
                    None => self.postings_of(&source)?,
                },
                is_last: true,
                source,
                read,
            };
            self.passes.push(pass);
        }
        Ok(rare)
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

    /// Returns an upper bound of the frequencies of derivations; None if it is not known.
    fn highest_frequency(&self, source: &Source) -> Option<u64> {
        match source {
            Source::Forms(term) if self.resolver.within().is_none() => {
                term.highest_frequency(self.resolver.postings)
            }
            Source::Forms(_) => None,
            // A field counts once.
            Source::Phrases(_) | Source::Completions(_) | Source::Misspelt(..) | Source::Listed(_) => {
                let fields = self.lengths.iter().zip(&self.units);
                let searched = fields.filter(|((field, _), _)| self.resolver.searches(*field));
                Some(searched.map(|((_, lengths), units)| units[usize::from(lengths.shortest)]).sum())
            }
        }
    }

    /// Returns an upper bound of the postings to read for derivations. Phrases are known: all matching documents were read.
    fn postings_of(&self, source: &Source) -> Result<u64> {
        let postings = self.resolver.postings;
        Ok(match source {
            Source::Forms(term) => forms(term, postings).map(|(word, _)| word.frequency_bound()).sum(),
            Source::Phrases(_) => 0,
            Source::Completions(term) => {
                let exact = term.exact().map_or(0, Word::frequency_bound);
                term.docs(DerivationKinds::PREFIX, postings)?.postings() + exact
            }
            Source::Misspelt(term, kind) => term.words(*kind).iter().map(Word::frequency_bound).sum(),
            Source::Listed(words) => words.iter().map(|word| word.frequency_bound()).sum(),
        })
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
                let all = self.resolver.postings.snapshot().documents();
                let mut docs = DocidSet::new(all.min().unwrap_or(0), all.max().unwrap_or(0));
                left.into_iter().for_each(|docid| docs.add(docid));
                let fewer = targets.insert(Targets::new(self.resolver.postings, Cow::Owned(docs.finish())));
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
        let &Pass { term, is_last, .. } = pass;
        let scored = |&(docid, frequency): &(u32, u64)| (docid, score_of(pass.max, frequency));
        match (&pass.read, targets) {
            (Some(read), None) => sums.add(term, is_last, read.iter().map(scored)),
            (Some(read), Some(targets)) => {
                let is_target = targets.contains();
                sums.add(term, is_last, read.iter().filter(|(docid, _)| is_target(*docid)).map(scored));
            }
            (None, targets) => {
                sums.add(term, is_last, self.frequencies(&pass.source, targets)?.iter().map(scored));
            }
        }
        Ok(())
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
        self.pairs.scores(self.resolver, |docid, field| self.frequency_unit(docid, field), docs)
    }

    /// Returns the frequency of one occurrence in a field of a document.
    fn frequency_unit(&self, docid: u32, field: FieldId) -> u64 {
        self.units_of(field).map_or(0, |units| units.of(docid))
    }

    fn units_of(&self, field: FieldId) -> Option<Units<'_>> {
        let at = self.lengths.binary_search_by_key(&field, |(known, _)| *known).ok()?;
        Some(Units { lengths: &self.lengths[at].1, units: &self.units[at] })
    }

    /// Returns the frequencies of derivations, in target documents alone if given.
    fn frequencies(&self, source: &Source, targets: Option<&mut Targets>) -> Result<Frequencies> {
        let postings = self.resolver.postings;
        match source {
            Source::Forms(term) => self.of_forms(term, targets),
            Source::Phrases(phrases) => self.of_phrases(phrases, targets.as_deref()),
            Source::Completions(term) => {
                let completions = term.docs(DerivationKinds::PREFIX, postings)?;
                let exact = term.exact().map(|word| postings.word_docs(word)).transpose()?;
                let mut fields = ByField::new(targets.as_deref());
                for docs in [Some(completions), exact].into_iter().flatten() {
                    fields.add(&docs, false, self.resolver);
                }
                Ok(self.once_each(&fields))
            }
            Source::Misspelt(term, kind) => {
                Ok(self.of_docs(&*term.docs(*kind, postings)?, targets.as_deref()))
            }
            Source::Listed(words) => {
                Ok(self.of_docs(&postings.docs(words.iter().copied())?, targets.as_deref()))
            }
        }
    }

    fn of_forms(&self, term: &Term, targets: Option<&mut Targets>) -> Result<Frequencies> {
        let (postings, joined) = (self.resolver.postings, term.parts.is_some());
        let mut found: Frequencies = Vec::new();
        // Lists follow each other, so the field rarely changes.
        let mut last: Option<(FieldId, Option<Units>)> = None;
        let mut take = |docid, field, count: u32, percent: u64| {
            let units = match last {
                Some((known, units)) if known == field => units,
                _ => {
                    let counts = self.resolver.searches(field)
                        && (!joined || postings.searchable().field_forgives(field));
                    last.insert((field, self.units_of(field).filter(|_| counts))).1
                }
            };
            if let Some(units) = units {
                found.push((docid, u64::from(count) * (units.of(docid) * percent / 100)));
            }
        };
        if let Some(targets) = targets {
            postings.visit_counts_in(forms(term, postings), targets, take)?;
            return Ok(added(found));
        }
        for (word, percent) in forms(term, postings) {
            postings.visit_counts(word, |docid, field, count| take(docid, field, count, percent))?;
        }
        let found = added(found);
        if self.resolver.within().is_none() {
            let highest = found.iter().map(|(_, frequency)| *frequency).max();
            term.keep_highest_frequency(highest.unwrap_or(0), postings);
        }
        Ok(found)
    }

    fn of_docs(&self, docs: &FieldDocs, targets: Option<&Targets>) -> Frequencies {
        let mut fields = ByField::new(targets);
        fields.add(docs, true, self.resolver);
        self.once_each(&fields)
    }

    fn of_phrases(&self, phrases: &[Slots], targets: Option<&Targets>) -> Result<Frequencies> {
        let postings = self.resolver.postings;
        let reading = Reading { forgiving: false, within: self.resolver.within() };
        let mut fields = ByField::new(targets);
        for phrase in phrases {
            let Some(first) = phrase.iter().flatten().next() else { continue };
            let Some(word) = postings.word(first)? else { continue };
            let docs = self.resolver.phrase_docs_of_index(phrase)?;
            if docs.is_empty() {
                continue;
            }
            for (field, in_field) in
                postings.word_docs(&word)?.fields_matching(reading, postings.searchable())
            {
                fields.insert(field, &(in_field & &*docs));
            }
        }
        Ok(self.once_each(&fields))
    }

    fn once_each(&self, fields: &ByField) -> Frequencies {
        let mut found = Vec::with_capacity(fields.docs.values().map(|docs| docs.len() as usize).sum());
        for (field, docs) in &fields.docs {
            let units = self.units_of(*field);
            let unit = |docid| units.map_or(0, |units| units.of(docid));
            found.extend(ascending(docs).into_iter().map(|docid| (docid, unit(docid))));
        }
        added(found)
    }
}

/// Frequencies of one occurrence in a field, by the length of the field.
#[derive(Clone, Copy)]
struct Units<'s> {
    lengths: &'s FieldLengths,
    units: &'s [u64],
}

impl Units<'_> {
    fn of(&self, docid: u32) -> u64 {
        self.units[usize::from(self.lengths.code(docid))]
    }
}

/// Documents by field.
struct ByField<'w> {
    docs: BTreeMap<FieldId, RoaringBitmap>,
    /// Other documents are left out.
    within: Option<&'w RoaringBitmap>,
}

impl<'w> ByField<'w> {
    fn new(targets: Option<&'w Targets>) -> Self {
        Self { docs: BTreeMap::new(), within: targets.map(Targets::docs) }
    }

    fn insert(&mut self, field: FieldId, docs: &RoaringBitmap) {
        let known = self.docs.entry(field).or_default();
        match self.within {
            Some(within) => *known |= docs & within,
            None => *known |= docs,
        }
    }

    fn add(&mut self, docs: &FieldDocs, forgiving: bool, resolver: &TermResolver) {
        let reading = Reading { forgiving, within: resolver.within() };
        for (field, docs) in docs.fields_matching(reading, resolver.postings.searchable()) {
            self.insert(field, docs);
        }
    }
}

/// Adds the frequencies of equal documents.
fn added(mut found: Frequencies) -> Frequencies {
    if !found.is_sorted_by_key(|(docid, _)| *docid) {
        // Each list was read in order. A stable sort is fast on such sorted runs.
        found.sort_by_key(|(docid, _)| *docid);
    }
    found.dedup_by(|later, first| {
        let is_same = later.0 == first.0;
        if is_same {
            first.1 += later.1;
        }
        is_same
    });
    found
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
