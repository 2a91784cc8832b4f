//! What of a text is a match, for highlighting and cropping: plain data.

use std::ops::RangeInclusive;

use super::graph::QueryGraph;
use super::parse::Slots;
use super::term::{DerivationKinds, Term};

/// Everything in a text that may stand for a term of the query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HighlightTerms {
    /// In order of creation: of each position first the word itself, then those it was joined with.
    pub terms: Vec<HighlightTerm>,
}

/// A term of the query, or neighbouring ones joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighlightTerm {
    /// Ids of the terms it covers.
    pub ids: RangeInclusive<usize>,
    /// Query positions it covers.
    pub positions: RangeInclusive<u32>,
    /// As analysed; empty for a phrase.
    pub text: String,
    /// Its words match at the start of a longer word too.
    pub unfinished: bool,
    /// The quoted phrase, the halves it was cut in, synonyms. A gap matches nothing.
    pub phrases: Vec<Slots>,
    /// Words of the index that stand for it.
    pub words: Vec<(String, MatchKind)>,
}

/// Why a word of the index stands for a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// It is the word.
    Exact,
    /// It begins with it.
    Prefix,
    /// It is a misspelling of it.
    Typo,
}

impl HighlightTerms {
    /// All that may stand for the nodes of a graph. Completions of short, common beginnings are not listed:
    /// there only the word itself is.
    pub(crate) fn new(graph: &QueryGraph, terms: &[Term]) -> Self {
        let terms = graph.nodes().map(|(_, node)| {
            let term = &terms[node.term];
            let phrases = DerivationKinds::EACH.into_iter().flat_map(|kind| term.phrases(kind));
            let reasons = [
                (DerivationKinds::EXACT, MatchKind::Exact),
                (DerivationKinds::PREFIX, MatchKind::Prefix),
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
