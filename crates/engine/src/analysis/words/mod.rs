//! Words of languages that are written without blanks between them, by dictionaries of optional packages.

mod cutter;
mod dictionary;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

pub use cutter::Cutter;
pub use dictionary::Dictionary;

use crate::error::Result;

/// Returns true for an analysed word in letters of Japanese, Chinese or Korean, whose words a dictionary finds.
pub fn needs_dictionary(word: &str) -> bool {
    let first = word.chars().next();
    first.is_some_and(
        |first| matches!(first, '\u{1100}'..='\u{11ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'),
    )
}

/// Dictionaries by the three-letter code of their language. Cheap to clone.
#[derive(Clone, Default)]
pub struct Dictionaries(BTreeMap<String, Arc<Dictionary>>);

/// Ids of dictionaries by language; see [`Dictionary::id`].
pub type DictionaryIds = BTreeMap<String, String>;

impl Dictionaries {
    /// Opens the dictionaries of these files.
    ///
    /// # Errors
    /// See [`Dictionary::open`].
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        let open = |path: &PathBuf| {
            let dictionary = Dictionary::open(path)?;
            Ok((dictionary.language().to_owned(), Arc::new(dictionary)))
        };
        paths.iter().map(open).collect::<Result<_>>().map(Self)
    }

    /// Returns the dictionary of a language.
    pub fn get(&self, language: &str) -> Option<&Dictionary> {
        self.0.get(language).map(Arc::as_ref)
    }

    /// Returns the ids of all dictionaries.
    pub fn ids(&self) -> DictionaryIds {
        self.0.iter().map(|(language, dictionary)| (language.clone(), dictionary.id().to_owned())).collect()
    }

    /// Returns the dictionaries of the languages in `ids`, also those with another id.
    pub fn of_languages(&self, ids: &DictionaryIds) -> Self {
        let chosen = self.0.iter().filter(|(language, _)| ids.contains_key(*language));
        Self(chosen.map(|(language, dictionary)| (language.clone(), Arc::clone(dictionary))).collect())
    }
}

#[cfg(test)]
mod tests;
