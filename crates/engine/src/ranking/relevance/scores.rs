//! Scores all documents of an index for the terms of a query.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::formula::{
    PAIR_WEIGHT, TYPO_OF_KNOWN_WORD, frequency_units, rarity, score_max, score_of, weights,
};
use super::nearness::{Pair, nearness};
use super::weights::attribute_weight;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::{FieldDocs, FieldLengths, Postings, Reading, Word};
use crate::query::{DerivationKinds, QueryGraph, Slots, Term, TermNode, TermResolver};

/// Scores of the documents of an index.
pub(in crate::ranking) struct Scores {
    /// By docid.
    sums: Vec<u32>,
    /// Sum of the highest scores of all terms and pairs.
    max: u32,
    pairs: Vec<Pair>,
    lengths: Arc<Vec<(FieldId, FieldLengths)>>,
    /// Frequency of one occurrence in a field, by the code of its length; as `lengths`.
    units: Vec<Vec<u64>>,
}

/// Documents and their frequencies.
type Frequencies = Vec<(u32, u64)>;

impl Scores {
    /// Scores all live documents for the terms of `graph`, in the searched fields.
    pub(in crate::ranking) fn new(resolver: &TermResolver, graph: &QueryGraph) -> Result<Self> {
        let snapshot = resolver.postings.snapshot();
        let lengths = resolver.postings.lengths()?;
        let units = lengths.iter().map(|(field, lengths)| {
            let path = snapshot.fields().name(*field).unwrap_or_default();
            frequency_units(attribute_weight(&snapshot.settings().attribute_weights, path), lengths.average)
        });
        let mut scores = Self {
            sums: vec![0; snapshot.documents().max().map_or(0, |last| last as usize + 1)],
            max: 0,
            pairs: Vec::new(),
            units: units.collect(),
            lengths: Arc::clone(&lengths),
        };
        // By docid: the best score for a term, plus 1.
        let mut best: Vec<u32> = vec![0; scores.sums.len()];
        let mut rarities: FxHashMap<&str, f64> = FxHashMap::default();
        for node in distinct_nodes(resolver, graph) {
            let term = resolver.term(node);
            let derivations = scores.frequencies(resolver, term)?;
            let mut found = 0;
            for (docid, _) in derivations.iter().flat_map(|(_, frequencies)| frequencies) {
                let best = &mut best[*docid as usize];
                found += u64::from(*best == 0);
                *best = 1;
            }
            let rare = rarity(snapshot.documents().len(), found);
            for (weight, frequencies) in &derivations {
                let highest = score_max(*weight, rare);
                for &(docid, frequency) in frequencies {
                    let best = &mut best[docid as usize];
                    *best = (score_of(highest, frequency) + 1).max(*best);
                }
            }
            for (docid, _) in derivations.iter().flat_map(|(_, frequencies)| frequencies) {
                let best = std::mem::take(&mut best[*docid as usize]);
                scores.sums[*docid as usize] += best.saturating_sub(1);
            }
            if term.parts.is_none() {
                scores.max += score_max(weights::EXACT, rare);
                rarities.extend(term.exact().into_iter().map(|word| (&*word.text, rare)));
            }
        }
        scores.pairs = pairs(resolver, graph, &rarities);
        scores.max += scores.pairs.iter().map(|pair| pair.max).sum::<u32>();
        Ok(scores)
    }

    /// Returns the score of a document without nearness.
    pub(in crate::ranking) fn sum(&self, docid: u32) -> u32 {
        self.sums[docid as usize]
    }

    /// Returns the highest possible score.
    pub(in crate::ranking) fn max(&self) -> u32 {
        self.max
    }

    /// Returns true if words of the query may be near each other.
    pub(in crate::ranking) fn has_pairs(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// Returns what nearness of words adds to the scores of documents; documents without such words are left out.
    pub(in crate::ranking) fn nearness(
        &self,
        resolver: &TermResolver,
        docs: &RoaringBitmap,
    ) -> Result<FxHashMap<u32, u32>> {
        nearness(resolver, &self.pairs, |docid, field| self.frequency_unit(docid, field), docs)
    }

    /// Returns the frequency of one occurrence in a field of a document.
    fn frequency_unit(&self, docid: u32, field: FieldId) -> u64 {
        match self.lengths.binary_search_by_key(&field, |(known, _)| *known) {
            Ok(at) => self.units[at][usize::from(self.lengths[at].1.code(docid))],
            Err(_) => 0,
        }
    }

    /// Returns the frequencies of the derivations of a term by weight, in the complete index.
    fn frequencies(&self, resolver: &TermResolver, term: &Term) -> Result<Vec<(f64, Frequencies)>> {
        let postings = resolver.postings;
        if term.parts.is_some() {
            let Some(word) = term.exact().filter(|word| postings.searchable().word_forgives(&word.text))
            else {
                return Ok(Vec::new());
            };
            return Ok(vec![(weights::JOINED, self.of_word(resolver, word, true)?)]);
        }
        let mut found = Vec::new();
        if let Some(word) = term.exact() {
            found.push((weights::EXACT, self.of_word(resolver, word, false)?));
        }
        for (kind, weight) in [
            (DerivationKinds::EXACT, weights::EXACT),
            (DerivationKinds::SYNONYMS, weights::SYNONYM),
            (DerivationKinds::SPLIT, weights::SPLIT),
        ] {
            if !term.phrases(kind).is_empty() {
                found.push((weight, self.of_phrases(resolver, term.phrases(kind))?));
            }
        }
        if term.has_words(DerivationKinds::PREFIX) {
            let completions = term.docs(DerivationKinds::PREFIX, postings)?;
            let exact = term.exact().map(|word| postings.word_docs(word)).transpose()?;
            let mut fields = ByField::default();
            for docs in [Some(completions), exact].into_iter().flatten() {
                fields.add(&docs, Reading { forgiving: false, within: resolver.within() }, postings);
            }
            found.push((weights::PREFIX, self.once_each(&fields)));
        }
        let part = if term.exact().is_some() { TYPO_OF_KNOWN_WORD } else { 1.0 };
        let length = term.text.chars().count();
        let is_whole = |word: &Word, typos: usize| word.text.chars().count() <= length + typos;
        let mut longer = Vec::new();
        for (kind, weight, typos) in [
            (DerivationKinds::ONE_TYPO, weights::ONE_TYPO, 1),
            (DerivationKinds::TWO_TYPOS, weights::TWO_TYPOS, 2),
        ] {
            let (whole, other): (Vec<&Word>, Vec<&Word>) =
                term.words(kind).iter().partition(|word| is_whole(word, typos));
            longer.extend(&other);
            if other.is_empty() && !whole.is_empty() {
                found.push((weight * part, self.of_docs(resolver, &*term.docs(kind, postings)?)));
            } else if !whole.is_empty() {
                found.push((weight * part, self.of_docs(resolver, &postings.docs(whole.into_iter())?)));
            }
        }
        if !longer.is_empty() {
            let docs = postings.docs(longer.into_iter())?;
            found.push((weights::MISSPELT_PREFIX * part, self.of_docs(resolver, &docs)));
        }
        Ok(found)
    }

    /// Frequencies of a word: every occurrence counts.
    fn of_word(&self, resolver: &TermResolver, word: &Word, forgiving: bool) -> Result<Frequencies> {
        let searchable = resolver.postings.searchable();
        let mut sums: Vec<(u32, u64)> = Vec::new();
        resolver.postings.visit_counts(word, |docid, field, count| {
            if resolver.searches(field) && (!forgiving || searchable.field_forgives(field)) {
                sums.push((docid, u64::from(count) * self.frequency_unit(docid, field)));
            }
        })?;
        Ok(added(sums))
    }

    /// Frequencies of misspelt words: a field counts once, however often they occur in it.
    fn of_docs(&self, resolver: &TermResolver, docs: &FieldDocs) -> Frequencies {
        let mut fields = ByField::default();
        fields.add(docs, Reading { forgiving: true, within: resolver.within() }, resolver.postings);
        self.once_each(&fields)
    }

    /// Frequencies of phrases: each counts once in each field that contains its first word.
    fn of_phrases(&self, resolver: &TermResolver, phrases: &[Slots]) -> Result<Frequencies> {
        let (postings, reading) =
            (resolver.postings, Reading { forgiving: false, within: resolver.within() });
        let mut fields = ByField::default();
        for phrase in phrases {
            let Some(first) = phrase.iter().flatten().next() else { continue };
            let Some(word) = postings.word(first)? else { continue };
            let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
            let docs = postings.phrase_docs(&slots, reading, postings.snapshot().documents())?;
            for (field, in_field) in
                postings.word_docs(&word)?.fields_matching(reading, postings.searchable())
            {
                *fields.0.entry(field).or_default() |= in_field & &docs;
            }
        }
        Ok(self.once_each(&fields))
    }

    fn once_each(&self, fields: &ByField) -> Frequencies {
        let mut sums = Vec::new();
        for (field, docs) in &fields.0 {
            sums.extend(docs.iter().map(|docid| (docid, self.frequency_unit(docid, *field))));
        }
        added(sums)
    }
}

/// Documents by field.
#[derive(Default)]
struct ByField(BTreeMap<FieldId, RoaringBitmap>);

impl ByField {
    fn add(&mut self, docs: &FieldDocs, reading: Reading, postings: &Postings) {
        for (field, docs) in docs.fields_matching(reading, postings.searchable()) {
            *self.0.entry(field).or_default() |= docs;
        }
    }
}

/// Adds the frequencies of equal documents.
fn added(mut sums: Frequencies) -> Frequencies {
    if !sums.is_sorted_by_key(|(docid, _)| *docid) {
        sums.sort_by_key(|(docid, _)| *docid);
    }
    sums.dedup_by(|later, first| {
        let is_same = later.0 == first.0;
        if is_same {
            first.1 += later.1;
        }
        is_same
    });
    sums
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

/// Returns the different pairs of neighbouring words that the index contains.
fn pairs(resolver: &TermResolver, graph: &QueryGraph, rarities: &FxHashMap<&str, f64>) -> Vec<Pair> {
    let singles: Vec<&Term> =
        graph.nodes().map(|(_, node)| resolver.term(node)).filter(|term| term.parts.is_none()).collect();
    let mut known = FxHashSet::default();
    let mut pairs = Vec::new();
    for two in singles.windows(2) {
        let (Some(left), Some(right)) = (two[0].exact(), two[1].exact()) else { continue };
        if known.insert((&left.text, &right.text)) {
            let rare = rarities[&*left.text].min(rarities[&*right.text]);
            let max = score_max(PAIR_WEIGHT, rare);
            pairs.push(Pair { left: left.clone(), right: right.clone(), max });
        }
    }
    pairs
}
