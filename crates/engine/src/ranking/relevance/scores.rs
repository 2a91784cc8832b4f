//! Scores documents for the terms of a query.
//!
//! The derivations of all terms are read in passes, those with the highest possible score first. Once the passes that are
//! left cannot bring an unseen document among the best, they are read for the documents alone that they still can
//! bring there (MaxScore; Turtle and Flood, 1995).

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::derivations::{Group, Source, documents_with, forms, groups, is_known, is_whole};
use super::formula::{
    GLUED_PAIR_WEIGHT, PAIR_STEPS_MAX, PAIR_WEIGHT, frequency_units, limited_pair, pairs_max, rarity,
    score_max, score_of, weights,
};
use super::nearness::{Pair, Pairs};
use super::sums::{Growth, Sums};
use super::weights::attribute_weight;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::{FieldDocs, FieldLengths, Reading, Word};
use crate::query::{DerivationKinds, QueryGraph, Slots, Term, TermNode, TermResolver};

/// Scores of the documents of an index. They depend on its live documents alone.
pub(in crate::ranking) struct Scores<'a> {
    resolver: &'a TermResolver<'a>,
    /// Highest possible score first.
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
        scores.passes.sort_by_key(|pass| std::cmp::Reverse(pass.max));
        scores.pairs = pairs(resolver, graph, &rarities);
        let words = scores.weights.iter().filter(|weight| **weight > 0).count() as u64;
        let most = pairs_max(u64::from(scores.max), words);
        let separate = scores.pairs.pairs.iter().filter(|pair| !pair.is_glued);
        let all: u64 = separate.map(|pair| u64::from(pair.max)).sum();
        for pair in &mut scores.pairs.pairs {
            if !pair.is_glued {
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
        let term = self.weights.len();
        self.weights.push(whole);
        self.passes.extend(groups.into_iter().zip(reads).map(|(Group { weight, source }, read)| {
            let max = score_max(weight, rare);
            Pass { term, max, source, read }
        }));
        Ok(rare)
    }

    /// Returns the best `count` documents of `universe` by their scores without nearness, best first; of equal ones, the
    /// smaller docids.
    pub(in crate::ranking) fn best(&self, universe: &RoaringBitmap, count: usize) -> Result<Vec<(u32, u32)>> {
        let mut sums = self.no_sums();
        let mut next = 0;
        let mut candidates: Option<RoaringBitmap> =
            (universe.len() <= count as u64).then(|| universe.clone());
        while next < self.passes.len() && candidates.is_none() {
            self.add(&self.passes[next], None, &mut sums)?;
            next += 1;
            let rest = self.rest_max(next);
            candidates = sums.candidates(universe, count, rest);
        }
        let mut candidates = candidates.unwrap_or_else(|| sums.documents(universe));
        sums.keep(&candidates);
        while next < self.passes.len() {
            self.add(&self.passes[next], Some(&candidates), &mut sums)?;
            next += 1;
            if let Some(fewer) = sums.candidates(&candidates, count, self.rest_max(next)) {
                candidates = fewer;
            }
        }
        let mut best: Vec<(u32, u32)> = candidates.iter().map(|docid| (sums.of(docid), docid)).collect();
        best.sort_unstable_by_key(|&(score, docid)| (std::cmp::Reverse(score), docid));
        best.truncate(count);
        Ok(best.into_iter().map(|(score, docid)| (docid, score)).collect())
    }

    /// Returns the scores of all documents without nearness.
    pub(in crate::ranking) fn all(&self) -> Result<Sums> {
        let mut sums = self.no_sums();
        for pass in &self.passes {
            self.add(pass, None, &mut sums)?;
        }
        Ok(sums)
    }

    fn no_sums(&self) -> Sums {
        let documents = self.resolver.postings.snapshot().documents();
        Sums::new(documents.max().map_or(0, |last| last as usize + 1), &self.weights)
    }

    /// Returns how much the passes from `next` on can add to the score of a document.
    fn rest_max(&self, next: usize) -> Growth {
        let mut by_term = vec![0; self.weights.len()];
        for pass in &self.passes[next..] {
            by_term[pass.term] = pass.max.max(by_term[pass.term]);
        }
        let found = by_term.iter().zip(&self.weights).filter(|(max, _)| **max > 0).map(|(_, weight)| weight);
        Growth { found: found.sum(), sum: by_term.iter().sum() }
    }

    /// Adds the scores of a pass, of documents of `within` alone if given.
    fn add(&self, pass: &Pass, within: Option<&RoaringBitmap>, sums: &mut Sums) -> Result<()> {
        let scored = |&(docid, frequency): &(u32, u64)| (docid, score_of(pass.max, frequency));
        match &pass.read {
            Some(read) => {
                let wanted = read.iter().filter(|(docid, _)| within.is_none_or(|docs| docs.contains(*docid)));
                sums.add(pass.term, wanted.map(scored));
            }
            None => sums.add(pass.term, self.frequencies(&pass.source, within)?.iter().map(scored)),
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
        match self.lengths.binary_search_by_key(&field, |(known, _)| *known) {
            Ok(at) => self.units[at][usize::from(self.lengths[at].1.code(docid))],
            Err(_) => 0,
        }
    }

    /// Returns the frequencies of derivations, in the documents of `within` alone if given.
    fn frequencies(&self, source: &Source, within: Option<&RoaringBitmap>) -> Result<Frequencies> {
        let postings = self.resolver.postings;
        match source {
            Source::Forms(term) => self.of_forms(term, within),
            Source::Phrases(phrases) => self.of_phrases(phrases, within),
            Source::Completions(term) => {
                let completions = term.docs(DerivationKinds::PREFIX, postings)?;
                let exact = term.exact().map(|word| postings.word_docs(word)).transpose()?;
                let mut fields = ByField::new(within);
                for docs in [Some(completions), exact].into_iter().flatten() {
                    fields.add(&docs, false, self.resolver);
                }
                Ok(self.once_each(&fields))
            }
            Source::Misspelt(term, kind) => Ok(self.of_docs(&*term.docs(*kind, postings)?, within)),
            Source::Listed(words) => Ok(self.of_docs(&postings.docs(words.iter().copied())?, within)),
        }
    }

    fn of_forms(&self, term: &Term, within: Option<&RoaringBitmap>) -> Result<Frequencies> {
        let (postings, joined) = (self.resolver.postings, term.parts.is_some());
        let mut found: Frequencies = Vec::new();
        let mut take = |docid, field, count: u32, percent: u64| {
            if self.resolver.searches(field) && (!joined || postings.searchable().field_forgives(field)) {
                let unit = self.frequency_unit(docid, field) * percent / 100;
                found.push((docid, u64::from(count) * unit));
            }
        };
        match within {
            Some(docs) => postings.visit_counts_in(forms(term, postings), docs, take)?,
            None => {
                for (word, percent) in forms(term, postings) {
                    postings.visit_counts(word, |docid, field, count| take(docid, field, count, percent))?;
                }
            }
        }
        Ok(added(found))
    }

    fn of_docs(&self, docs: &FieldDocs, within: Option<&RoaringBitmap>) -> Frequencies {
        let mut fields = ByField::new(within);
        fields.add(docs, true, self.resolver);
        self.once_each(&fields)
    }

    fn of_phrases(&self, phrases: &[Slots], within: Option<&RoaringBitmap>) -> Result<Frequencies> {
        let postings = self.resolver.postings;
        let reading = Reading { forgiving: false, within: self.resolver.within() };
        let mut fields = ByField::new(within);
        for phrase in phrases {
            let Some(first) = phrase.iter().flatten().next() else { continue };
            let Some(word) = postings.word(first)? else { continue };
            let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
            let docs = postings.phrase_docs(&slots, reading, postings.snapshot().documents())?;
            for (field, in_field) in
                postings.word_docs(&word)?.fields_matching(reading, postings.searchable())
            {
                fields.insert(field, &(in_field & &docs));
            }
        }
        Ok(self.once_each(&fields))
    }

    fn once_each(&self, fields: &ByField) -> Frequencies {
        let mut found = Vec::new();
        for (field, docs) in &fields.docs {
            found.extend(docs.iter().map(|docid| (docid, self.frequency_unit(docid, *field))));
        }
        added(found)
    }
}

/// Documents by field.
struct ByField<'w> {
    docs: BTreeMap<FieldId, RoaringBitmap>,
    /// Other documents are left out.
    within: Option<&'w RoaringBitmap>,
}

impl<'w> ByField<'w> {
    fn new(within: Option<&'w RoaringBitmap>) -> Self {
        Self { docs: BTreeMap::new(), within }
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

/// Returns the different pairs of words at most [`PAIR_STEPS_MAX`] words from each other in the query.
fn pairs(resolver: &TermResolver, graph: &QueryGraph, rarities: &FxHashMap<&str, f64>) -> Pairs {
    let nodes = graph.nodes().map(|(_, node)| (resolver.term(node), node.is_glued));
    let singles: Vec<(&Term, bool)> = nodes.filter(|(term, _)| term.parts.is_none()).collect();
    let mut known = FxHashSet::default();
    let mut by_text: FxHashMap<&str, usize> = FxHashMap::default();
    let mut pairs = Pairs::default();
    let all = (1..=PAIR_STEPS_MAX).flat_map(|step| singles.windows(step + 1));
    for words in all {
        let step = words.len() - 1;
        let two = [words[0].0, words[step].0];
        let is_glued = words[1..].iter().all(|(_, is_glued)| *is_glued);
        let [first, second] = two.map(|term| rarities.get(&*term.text).copied());
        let Some(rare) = first.zip(second).map(|(first, second)| first.min(second)) else { continue };
        if two.iter().any(|term| paired(term).is_empty()) {
            continue;
        }
        let [left, right] = two.map(|term| {
            *by_text.entry(&term.text).or_insert_with(|| {
                pairs.words.push(paired(term).into_iter().cloned().collect());
                pairs.words.len() - 1
            })
        });
        if known.insert((left, right)) {
            let weight = if is_glued { GLUED_PAIR_WEIGHT } else { PAIR_WEIGHT };
            pairs.pairs.push(Pair { left, right, max: score_max(weight / step as f64, rare), is_glued });
        }
    }
    pairs
}

/// Returns the words that may be a part of a pair: the word as written and its other forms; if the index has none, words
/// at one edit, else at two, without misspelt completions.
fn paired(term: &Term) -> Vec<&Word> {
    if is_known(term) {
        return term.exact().into_iter().chain(term.words(DerivationKinds::FORMS)).collect();
    }
    let whole = |kind, typos| -> Vec<&Word> {
        term.words(kind).iter().filter(|word| is_whole(term, word, typos)).collect()
    };
    let one_typo = whole(DerivationKinds::ONE_TYPO, 1);
    if one_typo.is_empty() { whole(DerivationKinds::TWO_TYPOS, 2) } else { one_typo }
}
