//! Lists the derivations of a node of the query graph, with their positions in a document.

use roaring::RoaringBitmap;

use super::graph::TermNode;
use super::limits::{PLACES_MAX, SPELLINGS_MAX};
use super::parse::Slots;
use super::resolver::{Slot, TermResolver};
use super::term::{DerivationKinds, FormKind, Term};
use crate::error::Result;
use crate::postings::{Occurrences, Reading, Word};

/// A derivation of a node.
pub(crate) struct Spelling {
    /// Its kind: `exact`, `phrase`, `prefix`, `synonym`, `stem`, `compound`, `pinyin`, `typo` or `split`.
    pub(crate) kind: &'static str,
    /// The word; for a phrase its words, with `…` for a gap; for a common prefix the prefix, followed by `…`.
    pub(crate) text: String,
    /// Its cost in typos, including the cost of joining words.
    pub(crate) typos: u8,
    /// Number of visible documents that it matches.
    pub(crate) documents: u64,
    /// Its positions in the document: attribute and position, in order, at most [`PLACES_MAX`]. A phrase has the
    /// positions of its first word.
    pub(crate) places: Vec<(String, u32)>,
}

/// A derivation of a given kind.
struct Found {
    text: String,
    documents: u64,
    places: Vec<(String, u32)>,
}

impl TermResolver<'_> {
    /// Returns the best [`SPELLINGS_MAX`] derivations of a node, and the number of all. Within a kind, those with more
    /// documents come first.
    pub(crate) fn spellings(
        &self,
        node: &TermNode,
        docid: u32,
        visible: &RoaringBitmap,
    ) -> Result<(Vec<Spelling>, usize)> {
        let term = self.term(node);
        let own = RoaringBitmap::from([docid]);
        let joins = term.parts.as_ref().map_or(0, |parts| u8::try_from(parts.len() - 1).unwrap_or(u8::MAX));
        let mut found = Vec::new();
        for kind in DerivationKinds::EACH {
            let mut of_kind = self.words_of(term, kind, &own, visible)?;
            for phrase in term.phrases(kind) {
                of_kind.push(self.phrase_of(phrase, docid, &own, visible)?);
            }
            of_kind.retain(|found| found.documents > 0);
            let form = |text: &str| (kind == DerivationKinds::FORMS).then(|| term.form_kind(text));
            of_kind.sort_by(|a, b| {
                let stems_first = form(&a.text).cmp(&form(&b.text));
                stems_first.then_with(|| b.documents.cmp(&a.documents)).then_with(|| a.text.cmp(&b.text))
            });
            let (name, typos) = name_of(kind, term);
            found.extend(of_kind.into_iter().map(|Found { text, documents, places }| Spelling {
                kind: form(&text).map_or(name, FormKind::name),
                text,
                typos: typos + joins,
                documents,
                places,
            }));
        }
        let total = found.len();
        // Derivations in the document come first, however rare they are.
        found.sort_by_key(|spelling| spelling.places.is_empty());
        found.truncate(SPELLINGS_MAX);
        Ok((found, total))
    }

    fn words_of(
        &self,
        term: &Term,
        kind: DerivationKinds,
        own: &RoaringBitmap,
        visible: &RoaringBitmap,
    ) -> Result<Vec<Found>> {
        let reading = Reading { forgiving: term.is_forgiven(kind), within: self.within };
        let searchable = self.postings.searchable();
        if kind == DerivationKinds::PREFIX && term.completes_by_prefix() {
            let documents = term.docs(kind, self.postings)?.matching_in(visible, reading, searchable).len();
            let occurrences = self.postings.prefix_occurrences(&term.text, own)?;
            let places = self.places(&occurrences, reading.forgiving);
            return Ok(vec![Found { text: format!("{}…", term.text), documents, places }]);
        }
        let found = |word: &Word| {
            let documents = self.postings.word_docs(word)?.matching_in(visible, reading, searchable).len();
            let occurrences = self.postings.occurrences([word].into_iter(), own)?;
            let places = self.places(&occurrences, reading.forgiving);
            Ok(Found { text: word.text.to_string(), documents, places })
        };
        term.words(kind).iter().map(found).collect()
    }

    fn phrase_of(
        &self,
        phrase: &Slots,
        docid: u32,
        own: &RoaringBitmap,
        visible: &RoaringBitmap,
    ) -> Result<Found> {
        let documents = self.phrase_docs(phrase)?;
        let places = match self.slot_word(phrase, Slot::FirstWord)? {
            Some(word) if documents.contains(docid) => {
                self.places(&self.postings.occurrences([&word].into_iter(), own)?, false)
            }
            _ => Vec::new(),
        };
        let words: Vec<&str> = phrase.iter().map(|word| word.as_deref().unwrap_or("…")).collect();
        Ok(Found { text: words.join(" "), documents: documents.intersection_len(visible), places })
    }

    /// Returns positions in searched fields; if `forgiving`, only in fields that allow typos.
    fn places(&self, occurrences: &Occurrences, forgiving: bool) -> Vec<(String, u32)> {
        let (searchable, fields) = (self.postings.searchable(), self.postings.snapshot().fields());
        occurrences
            .iter()
            .filter(|(_, field, _)| {
                self.searches(*field) && (!forgiving || searchable.field_forgives(*field))
            })
            .filter_map(|(_, field, position)| Some((fields.name(field)?.to_owned(), position)))
            .take(PLACES_MAX)
            .collect()
    }
}

/// Returns the name of a kind and its cost in typos.
fn name_of(kind: DerivationKinds, term: &Term) -> (&'static str, u8) {
    match kind {
        DerivationKinds::EXACT if term.phrase.is_some() => ("phrase", 0),
        DerivationKinds::EXACT => ("exact", 0),
        DerivationKinds::PREFIX => ("prefix", 0),
        DerivationKinds::SYNONYMS => ("synonym", 0),
        DerivationKinds::FORMS => (FormKind::Stem.name(), 1),
        DerivationKinds::ONE_TYPO => ("typo", 1),
        DerivationKinds::SPLIT => ("split", 1),
        _ => ("typo", 2),
    }
}
