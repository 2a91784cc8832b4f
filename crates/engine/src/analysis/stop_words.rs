//! Lists of words that are frequent in every text of a language, such as articles and pronouns.

use std::collections::HashMap;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// By three-letter code. Made by `scripts/stop-words.mjs` from the lists of the Snowball project; the fallback has the same.
static LISTS: LazyLock<HashMap<&str, FxHashSet<&str>>> = LazyLock::new(|| {
    let lines = include_str!("stop_words.txt").lines().map(|line| line.split(' '));
    lines.filter_map(|mut words| Some((words.next()?, words.collect()))).collect()
});

/// The stop words of some languages.
#[derive(Debug, Clone, Default)]
pub struct StopWordLists(Vec<&'static FxHashSet<&'static str>>);

impl StopWordLists {
    /// Selects lists by three-letter codes. Languages without a list are left out.
    pub fn of_codes<S: AsRef<str>>(codes: &[S]) -> Self {
        Self(codes.iter().filter_map(|code| LISTS.get(code.as_ref())).collect())
    }

    /// Returns true if a list has the analysed word.
    pub fn contains(&self, word: &str) -> bool {
        self.0.iter().any(|list| list.contains(word))
    }
}
