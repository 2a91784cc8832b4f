//! Finds the documents and occurrences of the derivations of a term.
//!
//! Results are cached per commit. Words recur in other queries, most of all while a query is being typed.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use roaring::RoaringBitmap;

use super::limits::{KIND_OCCURRENCES_FREQUENCY_MAX, KIND_OCCURRENCES_SHARE};
use super::parse::Slots;
use super::term::{DerivationKey, DerivationKinds, Derived, Term};
use crate::cache::{Both, cached};
use crate::error::Result;
use crate::postings::{FieldDocs, Occurrences, Postings, Reading, Word};
use crate::store::bitmap_bytes;

cached! {
    pub(super) Derivations: DerivationKey<Box<str>> => Derived, |of, derived| of.text.len() + derived.bytes();
    DerivedDocuments: (DerivationKey<Box<str>>, DerivationKinds) => FieldDocs, |(of, _), docs| {
        of.text.len() + docs.bytes()
    };
    DerivedOccurrences: (DerivationKey<Box<str>>, DerivationKinds) => Occurrences, |(of, _), found| {
        of.text.len() + found.bytes()
    };
    DerivedReads: (DerivationKey<Box<str>>, DerivationKinds) => AtomicU64, |(of, _), _| of.text.len();
    // By kinds, and true if the term was joined.
    MatchingDocuments: (DerivationKey<Box<str>>, (DerivationKinds, bool)) => RoaringBitmap, |(of, _), docs| {
        of.text.len() + bitmap_bytes(docs)
    };
    // By term, and true if it was joined.
    HighestFrequencies: (DerivationKey<Box<str>>, bool) => u64, |(of, _), _| of.text.len();
    PhraseDocuments: Slots => RoaringBitmap, |slots, docs| slots_bytes(slots) + bitmap_bytes(docs);
}

fn slots_bytes(slots: &Slots) -> usize {
    slots.iter().map(|slot| size_of::<Option<String>>() + slot.as_ref().map_or(0, String::len)).sum()
}

/// Returns the documents with a phrase in any searchable attribute.
pub(super) fn phrase_docs(postings: &Postings, phrase: &Slots) -> Result<Arc<RoaringBitmap>> {
    if let Some(docs) = postings.cache().get::<PhraseDocuments>(phrase) {
        return Ok(docs);
    }
    let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
    let docs = postings.phrase_docs(&slots, Reading::default(), postings.snapshot().documents())?;
    Ok(postings.insert::<PhraseDocuments>(phrase.clone(), docs))
}

impl Term {
    /// Returns the documents of the words of a kind by field, in the complete index.
    pub(crate) fn docs(&self, kind: DerivationKinds, postings: &Postings) -> Result<Arc<FieldDocs>> {
        match (self.prefix_docs(), self.words(kind)) {
            (Some(docs), _) if kind == DerivationKinds::PREFIX => Ok(Arc::clone(docs)),
            (_, [word]) => postings.word_docs(word),
            (_, words) => {
                if let Some(docs) = postings.cache().get::<DerivedDocuments>(&Both(&self.key(), &kind)) {
                    return Ok(docs);
                }
                let docs = postings.docs(words.iter())?;
                Ok(postings.insert::<DerivedDocuments>((self.key().to_owned(), kind), docs))
            }
        }
    }

    /// Returns all occurrences of the words of a kind. None if there are fewer than two words, if the words are in many
    /// documents, or if reading `universe` alone is still cheaper.
    pub(crate) fn occurrences(
        &self,
        kind: DerivationKinds,
        postings: &Postings,
        universe: &RoaringBitmap,
    ) -> Result<Option<Arc<Occurrences>>> {
        let words = self.words(kind);
        let frequency: u64 = words.iter().map(Word::frequency_bound).sum();
        if words.len() < 2 || frequency > KIND_OCCURRENCES_FREQUENCY_MAX {
            return Ok(None);
        }
        let of = self.key();
        let (key, owned) = (Both(&of, &kind), || (of.to_owned(), kind));
        if let Some(occurrences) = postings.cache().get::<DerivedOccurrences>(&key) {
            return Ok(Some(occurrences));
        }
        if postings.add::<DerivedReads>(&key, owned, universe.len()) * KIND_OCCURRENCES_SHARE < frequency {
            return Ok(None);
        }
        let occurrences = postings.occurrences(words.iter(), postings.snapshot().documents())?;
        Ok(Some(postings.insert::<DerivedOccurrences>(owned(), occurrences)))
    }

    /// Returns what [`keep_highest_frequency`](Self::keep_highest_frequency) kept for this term.
    pub(crate) fn highest_frequency(&self, postings: &Postings) -> Option<u64> {
        let kept = postings.cache().get::<HighestFrequencies>(&Both(&self.key(), &self.parts.is_some()));
        kept.map(|frequency| *frequency)
    }

    /// Caches the highest frequency of the word and its other forms in a document, in the unit of the rule `relevance`.
    pub(crate) fn keep_highest_frequency(&self, frequency: u64, postings: &Postings) {
        postings.insert::<HighestFrequencies>((self.key().to_owned(), self.parts.is_some()), frequency);
    }

    /// Returns the documents that match by a word of `kinds` in any searchable attribute.
    pub(crate) fn matching(&self, kinds: DerivationKinds, postings: &Postings) -> Result<Arc<RoaringBitmap>> {
        let how = (kinds, self.parts.is_some());
        if let Some(docs) = postings.cache().get::<MatchingDocuments>(&Both(&self.key(), &how)) {
            return Ok(docs);
        }
        let mut docs = RoaringBitmap::new();
        for kind in kinds.each().filter(|kind| self.has_words(*kind)) {
            let reading = Reading { forgiving: self.is_forgiven(kind), within: None };
            docs |= self.docs(kind, postings)?.matching(reading, postings.searchable());
        }
        Ok(postings.insert::<MatchingDocuments>((self.key().to_owned(), how), docs))
    }
}
