//! The derivations of a term, grouped by their weight in the rule `relevance`.

use roaring::RoaringBitmap;

use super::formula::{FORM_PERCENT, TYPO_OF_KNOWN_WORD, weights};
use crate::error::Result;
use crate::postings::{Postings, Reading, Word};
use crate::query::{DerivationKinds, Slots, Term};

/// Derivations of a term with the same weight.
pub(super) struct Group<'t> {
    pub(super) kind: GroupKind,
    pub(super) weight: f64,
    pub(super) source: Source<'t>,
}

/// Kinds of groups. Except for phrases, a term has at most one group of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum GroupKind {
    Forms,
    Phrases,
    Completions,
    OneTypo,
    TwoTypos,
    MisspeltCompletions,
}

/// The derivations of a group, by how their occurrences are counted.
pub(super) enum Source<'t> {
    /// The word itself and its other forms: every occurrence counts.
    Forms(&'t Term),
    /// Phrases: each counts once in each field that contains its first word.
    Phrases(&'t [Slots]),
    /// The word and its completions: a field counts once.
    Completions(&'t Term),
    /// All misspelt words of a kind: a field counts once.
    Misspelt(&'t Term, DerivationKinds),
    /// Some misspelt words: a field counts once.
    Listed(Vec<&'t Word>),
}

/// Returns true if the index contains the word or another form of it.
pub(super) fn is_known(term: &Term) -> bool {
    term.exact().is_some() || !term.words(DerivationKinds::FORMS).is_empty()
}

/// Returns true if `word` can be the complete term with this number of typos, not only a longer word that begins with
/// it.
pub(super) fn is_whole(term: &Term, word: &Word, typos: usize) -> bool {
    !term.unfinished || word.text.chars().count() <= term.text.chars().count() + typos
}

/// Returns the word itself and its other forms, each with the weight of an occurrence in hundredths.
pub(super) fn forms<'t>(term: &'t Term, postings: &Postings) -> impl Iterator<Item = (&'t Word, u64)> {
    let exact = term.exact().into_iter().map(|word| (word, 100));
    let forms = term.words(DerivationKinds::FORMS).iter().map(|word| (word, FORM_PERCENT));
    let joined = term.parts.is_some();
    exact.chain(forms).filter(move |(word, _)| !joined || postings.searchable().word_forgives(&word.text))
}

/// Returns the number of documents with the word or its other forms.
pub(super) fn documents_with(term: &Term, reading: Reading, postings: &Postings) -> Result<u64> {
    let mut docs = RoaringBitmap::new();
    for (word, _) in forms(term, postings) {
        for (_, in_field) in postings.word_docs(word)?.fields_matching(reading, postings.searchable()) {
            docs |= in_field;
        }
    }
    Ok(docs.len())
}

/// Returns the derivations of a term by weight.
pub(super) fn groups(term: &Term) -> Vec<Group<'_>> {
    let known = is_known(term);
    let mut groups = Vec::new();
    let mut add = |kind, weight, source| groups.push(Group { kind, weight, source });
    if term.parts.is_some() {
        if known {
            add(GroupKind::Forms, weights::JOINED, Source::Forms(term));
        }
        return groups;
    }
    if known {
        add(GroupKind::Forms, weights::EXACT, Source::Forms(term));
    }
    for (kind, weight) in [
        (DerivationKinds::EXACT, weights::EXACT),
        (DerivationKinds::SYNONYMS, weights::SYNONYM),
        (DerivationKinds::SPLIT, weights::SPLIT),
    ] {
        if !term.phrases(kind).is_empty() {
            add(GroupKind::Phrases, weight, Source::Phrases(term.phrases(kind)));
        }
    }
    if term.has_words(DerivationKinds::PREFIX) {
        add(GroupKind::Completions, weights::PREFIX, Source::Completions(term));
    }
    let part = if known { TYPO_OF_KNOWN_WORD } else { 1.0 };
    let mut longer = Vec::new();
    for (group, kind, weight, typos) in [
        (GroupKind::OneTypo, DerivationKinds::ONE_TYPO, weights::ONE_TYPO, 1),
        (GroupKind::TwoTypos, DerivationKinds::TWO_TYPOS, weights::TWO_TYPOS, 2),
    ] {
        let (whole, other): (Vec<&Word>, Vec<&Word>) =
            term.words(kind).iter().partition(|word| is_whole(term, word, typos));
        if !whole.is_empty() {
            let source = match other.is_empty() {
                true => Source::Misspelt(term, kind),
                false => Source::Listed(whole),
            };
            add(group, weight * part, source);
        }
        longer.extend(other);
    }
    if !longer.is_empty() {
        add(GroupKind::MisspeltCompletions, weights::MISSPELT_PREFIX * part, Source::Listed(longer));
    }
    groups
}
