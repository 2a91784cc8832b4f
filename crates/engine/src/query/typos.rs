//! Typo budgets of words, and the words of the index within them.
//!
//! The walk over the dictionary with an automaton is `postings::misspellings`. Source: search §5.2.

use super::limits::{ONE_TYPO_MAX, TWO_TYPOS_MAX};
use crate::error::Result;
use crate::postings::{Misspellings, Postings};
use crate::settings::TypoTolerance;

/// Returns how many typos `word` may have under the settings of an index: 0, 1 or 2.
pub(super) fn typo_budget(settings: &TypoTolerance, word: &str) -> u8 {
    let sizes = settings.min_word_size_for_typos;
    // Settings keep protected words in lower case, as analysis leaves most of them.
    let protected = settings.disable_on_words.iter().any(|listed| listed.to_lowercase() == word);
    match word.chars().count() {
        _ if !settings.enabled || protected => 0,
        size if size < usize::from(sizes.one_typo) => 0,
        size if size < usize::from(sizes.two_typos) => 1,
        _ => 2,
    }
}

/// Returns the words of the index at one and two edits from `word`; if `unfinished`, also words with a prefix at this
/// distance.
pub(super) fn misspellings(
    postings: &Postings,
    word: &str,
    typos: u8,
    unfinished: bool,
) -> Result<Misspellings> {
    postings.misspellings(word, typos, unfinished, ONE_TYPO_MAX, TWO_TYPOS_MAX)
}
