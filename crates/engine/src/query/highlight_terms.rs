//! The words and phrases to highlight and crop around, as plain data.

use std::ops::RangeInclusive;

use super::graph::QueryGraph;
use super::parse::Slots;
use super::term::{DerivationKinds, Term};

/// All words and phrases that may stand for a term of the query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HighlightTerms {
    /// In order of creation: for each position first the word itself, then the joined words that contain it.
    pub terms: Vec<HighlightTerm>,
}

/// A term of the query, or neighbouring terms joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighlightTerm {
    /// Ids of the terms it covers.
    pub ids: RangeInclusive<usize>,
    /// Query positions it covers.
    pub positions: RangeInclusive<u32>,
    /// Analysed text; empty for a phrase.
    pub text: String,
    /// True if its words also match the start of longer words.
    pub unfinished: bool,
    /// The quoted phrase, the split halves and the synonyms. A gap matches nothing.
    pub phrases: Vec<Slots>,
    /// Derivations: words of the index.
    pub words: Vec<(String, MatchKind)>,
}

/// Tells why a word of the index matches a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// Equals the term.
    Exact,
    /// Begins with the term.
    Prefix,
    /// Misspelling or other form of the term.
    Typo,
}

impl HighlightTerms {
    /// Collects the derivations of all nodes of `graph`. Completions of short, common prefixes are not listed; only the
    /// word itself is.
    pub(crate) fn new(graph: &QueryGraph, terms: &[Term]) -> Self {
        let terms = graph.nodes().map(|(_, node)| {
            let term = &terms[node.term];
            let phrases = DerivationKinds::EACH.into_iter().flat_map(|kind| term.phrases(kind));
            let reasons = [
                (DerivationKinds::EXACT, MatchKind::Exact),
                (DerivationKinds::PREFIX, MatchKind::Prefix),
                (DerivationKinds::FORMS, MatchKind::Typo),
                (DerivationKinds::ONE_TYPO, MatchKind::Typo),
                (DerivationKinds::TWO_TYPOS, MatchKind::Typo),
            ];
            let listed = reasons
                .into_iter()
                .filter(|(kind, _)| *kind != DerivationKinds::PREFIX || !term.completes_by_prefix());
            let words = listed.flat_map(|(kind, reason)| {
                term.words(kind).iter().map(move |word| (word.text.to_string(), reason))
            });
            HighlightTerm {
                ids: node.ids.clone(),
                positions: node.positions.clone(),
                text: term.text.clone(),
                unfinished: term.unfinished,
                phrases: phrases.cloned().collect(),
                words: words.collect(),
            }
        });
        Self { terms: terms.collect() }
    }
}
