//! Here is a term: which documents hold the words that stand for it, and where?
//!
//! Answers are cached for a commit. Words come again in other queries, above all while a query is being typed.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use roaring::RoaringBitmap;

use super::limits::{DERIVATION_BYTES_MAX, KIND_OCCURRENCES_FREQUENCY_MAX, KIND_OCCURRENCES_SHARE};
use super::parse::Slots;
use super::term::{DerivationKey, DerivationKinds, Derived, Term};
use crate::error::Result;
use crate::generation_cache::GenerationCache;
use crate::postings::{FieldDocs, Occurrences, Postings, Reading, Word};

/// Derivations by word, and their documents, of one commit.
#[derive(Default)]
pub(super) struct DerivationCache {
    pub(super) derived: GenerationCache<DerivationKey, Derived>,
    /// Documents of the words of a kind.
    pub(super) docs: GenerationCache<(DerivationKey, DerivationKinds), FieldDocs>,
    /// Occurrences of the words of a kind.
    pub(super) occurrences: GenerationCache<(DerivationKey, DerivationKinds), Occurrences>,
    /// For how many documents those were read until now.
    pub(super) occurrences_read: GenerationCache<(DerivationKey, DerivationKinds), AtomicU64>,
    /// Documents that match by a word of some kinds, of a term that was joined or not.
    pub(super) matching: GenerationCache<(DerivationKey, DerivationKinds, bool), RoaringBitmap>,
    /// Documents of phrases in searchable attributes.
    phrases: GenerationCache<Slots, RoaringBitmap>,
}

/// Documents that hold a phrase in any searchable attribute.
pub(super) fn phrase_docs(postings: &Postings, phrase: &Slots) -> Result<Arc<RoaringBitmap>> {
    let cache: Arc<DerivationCache> = postings.snapshot().attachments().get();
    if let Some(docs) = cache.phrases.get(phrase) {
        return Ok(docs);
    }
    let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
    let docs = Arc::new(postings.phrase_docs(&slots, Reading::default(), postings.snapshot().documents())?);
    let text: usize = slots.iter().flatten().map(|word| word.len() + size_of::<String>()).sum();
    cache.insert(postings, &cache.phrases, phrase.clone(), &docs, docs.serialized_size() + text);
    Ok(docs)
}

impl DerivationCache {
    /// Caches what was worked out, unless it was cut short by the deadline.
    pub(super) fn insert<K: Hash + Eq, V>(
        &self,
        postings: &Postings,
        cache: &GenerationCache<K, V>,
        key: K,
        value: &Arc<V>,
        bytes: usize,
    ) {
        if !postings.budget().is_overdrawn() {
            cache.insert(key, Arc::clone(value), bytes, DERIVATION_BYTES_MAX);
        }
    }
}

impl Term {
    /// Documents of the words of a kind, field by field, over the whole index.
    pub(crate) fn docs(&self, kind: DerivationKinds, postings: &Postings) -> Result<Arc<FieldDocs>> {
        match (self.prefix_docs(), self.words(kind)) {
            (Some(docs), _) if kind == DerivationKinds::PREFIX => Ok(Arc::clone(docs)),
            (_, [word]) => postings.word_docs(word),
            (_, words) => {
                let cache: Arc<DerivationCache> = postings.snapshot().attachments().get();
                let key = (self.key(), kind);
                if let Some(docs) = cache.docs.get(&key) {
                    return Ok(docs);
                }
                let docs = Arc::new(postings.docs(words.iter())?);
                cache.insert(postings, &cache.docs, key, &docs, docs.bytes());
                Ok(docs)
            }
        }
    }

    /// All occurrences of the several words of a kind. None if they are in many documents, or as long as reading those
    /// of `universe` alone is as quick.
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
        let cache: Arc<DerivationCache> = postings.snapshot().attachments().get();
        let key = (self.key(), kind);
        if let Some(occurrences) = cache.occurrences.get(&key) {
            return Ok(Some(occurrences));
        }
        if cache.occurrences_read.count(&key, universe.len()) * KIND_OCCURRENCES_SHARE < frequency {
            return Ok(None);
        }
        let occurrences = Arc::new(postings.occurrences(words.iter(), postings.snapshot().documents())?);
        cache.insert(postings, &cache.occurrences, key, &occurrences, occurrences.bytes());
        Ok(Some(occurrences))
    }

    /// Documents that match by a word of some kinds in any searchable attribute.
    pub(crate) fn matching(&self, kinds: DerivationKinds, postings: &Postings) -> Result<Arc<RoaringBitmap>> {
        let cache: Arc<DerivationCache> = postings.snapshot().attachments().get();
        let key = (self.key(), kinds, self.parts.is_some());
        if let Some(docs) = cache.matching.get(&key) {
            return Ok(docs);
        }
        let mut docs = RoaringBitmap::new();
        for kind in kinds.each().filter(|kind| self.has_words(*kind)) {
            let reading = Reading { forgiving: self.is_forgiven(kind), within: None };
            docs |= self.docs(kind, postings)?.matching(reading, postings.searchable());
        }
        let docs = Arc::new(docs);
        cache.insert(postings, &cache.matching, key, &docs, docs.serialized_size());
        Ok(docs)
    }
}
