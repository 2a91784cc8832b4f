//! How languages join words into compounds.
//!
//! A compound is two words of the index, with or without linking letters between them: `arbeit` + `s` + `zimmer`.
//! The parts of longer compounds are compounds themselves.

use std::borrow::Cow;

use super::stop_words::StopWordLists;

/// Letters of the shortest part. Shorter words are mostly prefixes and endings.
const PART_LETTERS_MIN: usize = 3;

/// Letters of the shortest query word that is looked for in compounds.
const WORD_LETTERS_MIN: usize = 4;

/// Linking letters by three-letter code. The fallback has the same.
const LINKS: [(&str, &[&str]); 6] = [
    ("dan", &["s", "e"]),
    ("deu", &["s", "es", "n", "en", "er", "e"]),
    ("fin", &["n"]),
    ("nld", &["s", "en"]),
    ("nob", &["s", "e"]),
    ("swe", &["s"]),
];

/// The language whose words lose a final letter in compounds, and the letter: `schule` in `schulbuch`.
const DROPPED: (&str, char) = ("deu", 'e');

/// The rules of some languages.
#[derive(Debug, Clone)]
pub struct Compounds {
    links: Vec<&'static str>,
    drops: bool,
    /// Articles, prepositions and other words that are no parts.
    ignored: StopWordLists,
}

impl Compounds {
    /// Returns the rules of languages by their three-letter codes; `None` if there are none.
    pub fn of_codes<S: AsRef<str>>(codes: &[S]) -> Option<Self> {
        let has = |code: &str| codes.iter().any(|one| one.as_ref() == code);
        let mut links: Vec<&str> = Vec::new();
        for (_, own) in LINKS.iter().filter(|(code, _)| has(code)) {
            links.extend(own.iter().filter(|link| !links.contains(link)).copied().collect::<Vec<_>>());
        }
        let ignored = StopWordLists::of_codes(codes);
        (!links.is_empty()).then(|| Self { links, drops: has(DROPPED.0), ignored })
    }

    /// Returns true if a word of the index may be a part.
    pub fn is_part(&self, word: &str) -> bool {
        is_long(word, PART_LETTERS_MIN)
            && !word.bytes().any(|byte| byte.is_ascii_digit())
            && !self.ignored.contains(word)
    }

    /// Returns true if a query word is looked for in compounds.
    pub fn is_sought(&self, word: &str) -> bool {
        is_long(word, WORD_LETTERS_MIN) && self.is_part(word)
    }

    /// Returns the words that may be the first part of a compound which begins with `start`, the most likely first.
    pub fn first_parts<'s>(&'s self, start: &'s str) -> impl Iterator<Item = Cow<'s, str>> {
        let linked = self.links.iter().filter_map(|link| start.strip_suffix(link)).map(Cow::Borrowed);
        let dropped = self.drops.then(|| Cow::Owned(format!("{start}{}", DROPPED.1)));
        std::iter::once(Cow::Borrowed(start)).chain(linked).chain(dropped)
    }

    /// Returns the words that may be the second part of a compound which ends with `end`.
    pub fn second_parts<'s>(&'s self, end: &'s str) -> impl Iterator<Item = &'s str> {
        std::iter::once(end).chain(self.links.iter().filter_map(|link| end.strip_prefix(link)))
    }

    /// Returns `word` without the letter that it loses in compounds, if it may lose one.
    pub fn shortened<'w>(&self, word: &'w str) -> Option<&'w str> {
        word.strip_suffix(DROPPED.1).filter(|short| self.drops && is_long(short, WORD_LETTERS_MIN))
    }
}

fn is_long(word: &str, letters: usize) -> bool {
    word.chars().nth(letters - 1).is_some()
}
