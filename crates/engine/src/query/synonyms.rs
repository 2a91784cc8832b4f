//! Synonyms of words and phrases. Source: search §5.4.

use std::collections::HashMap;
use std::sync::Arc;

use super::limits::{SYNONYM_WORDS_MAX, SYNONYMS_MAX};
use super::parse::Slots;
use crate::analysis::{Analyzer, TokenKind};
use crate::cache::cached;
use crate::settings::Settings;
use crate::store::Snapshot;

cached! {
    SynonymLists: () => Synonyms, |_, synonyms| synonyms.bytes();
}

/// Synonyms of the settings, split into words like documents.
pub(super) struct Synonyms {
    /// Words of a key → its alternatives without duplicates. Keys with the same words are merged.
    by_key: HashMap<Vec<String>, Vec<Vec<String>>>,
}

impl Synonyms {
    /// Returns the synonyms of a commit's settings, cached because there may be many.
    pub(super) fn of_snapshot(snapshot: &Snapshot, analyzer: &Analyzer) -> Arc<Self> {
        if let Some(cached) = snapshot.cache().get::<SynonymLists>(&()) {
            return cached;
        }
        let made = Arc::new(Self::new(snapshot.settings(), analyzer));
        snapshot.cache().insert::<SynonymLists>((), &made);
        made
    }

    /// Memory in bytes.
    fn bytes(&self) -> usize {
        let words = |words: &Vec<String>| {
            size_of_val(words) + words.iter().map(|word| size_of::<String>() + word.len()).sum::<usize>()
        };
        let entry = |(key, alternatives): (&Vec<String>, &Vec<Vec<String>>)| {
            words(key) + size_of_val(alternatives) + alternatives.iter().map(words).sum::<usize>()
        };
        self.by_key.iter().map(entry).sum()
    }

    /// Analyses keys and alternatives into lists of words.
    fn new(settings: &Settings, analyzer: &Analyzer) -> Self {
        let words = |text: &str| -> Vec<String> {
            let tokens = analyzer.tokens(text, None).into_iter();
            let words = tokens.filter(|token| token.kind == TokenKind::Word && !token.text.is_empty());
            words.map(|token| token.text.into_owned()).collect()
        };
        let mut by_key: HashMap<Vec<String>, Vec<Vec<String>>> = HashMap::new();
        for (key, alternatives) in &settings.synonyms {
            let known = by_key.entry(words(key)).or_default();
            for alternative in alternatives {
                // More are never used.
                if known.len() == SYNONYMS_MAX {
                    break;
                }
                let alternative = words(alternative);
                if !alternative.is_empty() && !known.contains(&alternative) {
                    known.push(alternative);
                }
            }
        }
        Self { by_key }
    }

    /// Returns at most [`SYNONYMS_MAX`] phrases with [`SYNONYM_WORDS_MAX`] words in total. A phrase beyond this total
    /// is skipped.
    pub(super) fn of(&self, key: &[String]) -> Vec<Slots> {
        let mut words = 0;
        let alternatives = self.by_key.get(key).into_iter().flatten().take(SYNONYMS_MAX);
        let fitting = alternatives.filter(|alternative| {
            let fits = words + alternative.len() <= SYNONYM_WORDS_MAX;
            words += if fits { alternative.len() } else { 0 };
            fits
        });
        fitting.map(|alternative| alternative.iter().cloned().map(Some).collect()).collect()
    }
}
