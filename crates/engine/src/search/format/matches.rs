//! What of a text answers the query.

use std::ops::{Range, RangeInclusive};

use rustc_hash::FxHashMap;

use crate::analysis::Token;
use crate::ranking::{MatchKind, Matcher};

/// A text's tokens, its words counted.
pub(in crate::search) struct Words<'t> {
    pub tokens: Vec<Token<'t>>,
    /// Places of the words among the tokens.
    pub places: Vec<usize>,
}

impl<'t> Words<'t> {
    pub fn new(tokens: Vec<Token<'t>>) -> Self {
        let mut places = Vec::with_capacity(tokens.len() / 2 + 1);
        places.extend(tokens.iter().enumerate().filter(|(_, token)| token.is_word()).map(|(at, _)| at));
        Self { tokens, places }
    }
}

/// A part of a text that answers the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::search) struct Match {
    /// Bytes of the text: part of a word if only its beginning was asked for.
    pub bytes: Range<usize>,
    /// Its words, counted from the text's first.
    pub words: RangeInclusive<usize>,
    /// Query positions it answers.
    pub positions: RangeInclusive<u32>,
}

/// A [`Matcher`] made ready to be looked up.
#[derive(Debug, Default)]
pub(in crate::search) struct Matching {
    /// First bytes of all that is looked for: most words of a text have another one.
    first_bytes: FirstBytes,
    /// In order; by first word in `phrases_at`.
    phrases: Vec<(Vec<Option<String>>, RangeInclusive<u32>)>,
    phrases_at: FxHashMap<String, Vec<usize>>,
    /// Words that must be whole.
    whole: FxHashMap<String, RangeInclusive<u32>>,
    /// Words that may go on.
    unfinished: Vec<Unfinished>,
}

/// A set of bytes.
#[derive(Debug, Default)]
struct FirstBytes([u64; 4]);

impl FirstBytes {
    fn add(&mut self, word: &str) {
        if let Some(byte) = word.bytes().next() {
            self.0[usize::from(byte / 64)] |= 1 << (byte % 64);
        }
    }

    /// Whether a word that was added begins like this one.
    fn has(&self, word: &str) -> bool {
        word.bytes().next().is_some_and(|byte| self.0[usize::from(byte / 64)] >> (byte % 64) & 1 == 1)
    }
}

#[derive(Debug)]
struct Unfinished {
    /// Words, and whether they are misspellings: those are tried last.
    words: FxHashMap<String, bool>,
    bytes_max: usize,
    /// Characters of the query word: no more of a match is marked.
    chars: usize,
    positions: RangeInclusive<u32>,
}

impl Matching {
    pub fn new(matcher: Matcher) -> Self {
        let mut matching = Self::default();
        let mut terms = matcher.terms;
        for term in &mut terms {
            for phrase in std::mem::take(&mut term.phrases) {
                let Some(Some(first)) = phrase.first() else { continue };
                matching.first_bytes.add(first);
                matching.phrases_at.entry(first.clone()).or_default().push(matching.phrases.len());
                matching.phrases.push((phrase, term.positions.clone()));
            }
        }
        // Longer readings of the query are tried first.
        terms.sort_by_key(|term| std::cmp::Reverse(term.ids.end() - term.ids.start()));
        for term in terms {
            if term.words.is_empty() {
                continue;
            }
            term.words.iter().for_each(|(word, _)| matching.first_bytes.add(word));
            if term.unfinished {
                let bytes_max = term.words.iter().map(|(word, _)| word.len()).max().unwrap_or(0);
                let mut words = FxHashMap::default();
                for (word, kind) in term.words {
                    words.entry(word).or_insert(kind == MatchKind::Typo);
                }
                let chars = term.text.chars().count();
                matching.unfinished.push(Unfinished { words, bytes_max, chars, positions: term.positions });
            } else {
                for (word, _) in term.words {
                    matching.whole.entry(word).or_insert_with(|| term.positions.clone());
                }
            }
        }
        matching
    }

    /// Whether nothing can match.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty() && self.whole.is_empty() && self.unfinished.is_empty()
    }

    /// All matches of a text, in order.
    pub fn find(&self, words: &Words<'_>) -> Vec<Match> {
        let mut found = Vec::new();
        if self.is_empty() {
            return found;
        }
        let mut at = 0;
        while at < words.places.len() {
            let here = &words.tokens[words.places[at]].text;
            let may_match = self.first_bytes.has(here);
            let matched = may_match.then(|| self.phrase_at(words, at).or_else(|| self.word_at(words, at)));
            let matched = matched.flatten();
            at = matched.as_ref().map_or(at, |matched| *matched.words.end()) + 1;
            found.extend(matched);
        }
        found
    }

    fn phrase_at(&self, words: &Words<'_>, at: usize) -> Option<Match> {
        let first = &words.tokens[words.places[at]];
        let candidates = self.phrases_at.get(first.text.as_ref())?;
        candidates.iter().find_map(|&phrase| {
            let (slots, positions) = &self.phrases[phrase];
            let places = words.places.get(at..at + slots.len())?;
            let fits = places
                .iter()
                .zip(slots)
                .all(|(&place, slot)| slot.as_deref() == Some(words.tokens[place].text.as_ref()));
            let last = &words.tokens[*places.last()?];
            fits.then(|| Match {
                bytes: first.byte_start..last.byte_end,
                words: at..=at + slots.len() - 1,
                positions: positions.clone(),
            })
        })
    }

    fn word_at(&self, words: &Words<'_>, at: usize) -> Option<Match> {
        let token = &words.tokens[words.places[at]];
        let text = token.text.as_ref();
        let matched = |end: usize, positions: &RangeInclusive<u32>| Match {
            bytes: token.byte_start..end,
            words: at..=at,
            positions: positions.clone(),
        };
        if let Some(positions) = self.whole.get(text) {
            return Some(matched(token.byte_end, positions));
        }
        self.unfinished.iter().find_map(|term| {
            let ends = text.char_indices().map(|(start, char)| start + char.len_utf8());
            let beginnings = ends.take_while(|&end| end <= term.bytes_max).map(|end| &text[..end]);
            let words = beginnings.filter_map(|word| Some((*term.words.get(word)?, word)));
            // Of misspellings the shortest counts, as the reference tries them in order of the alphabet.
            let (_, word) = words.min()?;
            let bytes: usize = word.chars().take(term.chars).map(char::len_utf8).sum();
            let end = token.byte_start + token.original_bytes(bytes);
            Some(matched(end.min(token.byte_end), &term.positions))
        })
    }
}
