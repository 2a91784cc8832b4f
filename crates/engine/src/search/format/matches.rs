//! Finds the words of the query in a text.

use std::ops::{Range, RangeInclusive};

use rustc_hash::FxHashMap;

use crate::analysis::{Analyzer, Locales, Piece, TakePieces, Token};
use crate::query::{HighlightTerms, MatchKind};

/// The words of a text. Words that cannot match are only counted.
pub(in crate::search) struct Words<'t> {
    /// All words and separators, if the text is cropped.
    pub pieces: Option<Vec<Piece>>,
    /// Words that may match, with their numbers among all words.
    candidates: Vec<(usize, Token<'t>)>,
}

impl<'t> Words<'t> {
    /// Returns the words of `text` that may match `matching`. `locales`: languages of the text. `is_cropped`: all words
    /// and separators are needed.
    pub fn of(
        analyzer: &Analyzer,
        text: &'t str,
        locales: Locales<'_>,
        matching: &Matching,
        is_cropped: bool,
    ) -> Self {
        // On average a word has five letters and a separator one.
        let pieces = is_cropped.then(|| Vec::with_capacity(text.len() / 3 + 1));
        let words = Self { pieces, candidates: Vec::new() };
        let is_wanted = |byte| matching.first_bytes.has(byte);
        let mut taking = Taking { words, count: 0, is_wanted };
        analyzer.pieces(text, locales, is_wanted, &mut taking);
        taking.words
    }
}

struct Taking<'t, W> {
    words: Words<'t>,
    /// Number of words so far.
    count: usize,
    is_wanted: W,
}

impl<'t, W: Fn(u8) -> bool> TakePieces<'t> for Taking<'t, W> {
    fn pass(&mut self, piece: Piece) {
        self.count += usize::from(piece.kind.is_word());
        if let Some(pieces) = &mut self.words.pieces {
            pieces.push(piece);
        }
    }

    fn take(&mut self, token: Token<'t>) {
        let (piece, number) = (token.piece(), self.count);
        self.pass(piece);
        if token.is_word() && token.text.bytes().next().is_some_and(&self.is_wanted) {
            self.words.candidates.push((number, token));
        }
    }
}

/// A part of a text that matches the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::search) struct Match {
    /// Bytes of the text. Only a part of a word, if the query matches a prefix.
    pub bytes: Range<usize>,
    /// Word numbers in the text.
    pub words: RangeInclusive<usize>,
    /// Query positions that it matches.
    pub positions: RangeInclusive<u32>,
}

/// [`HighlightTerms`] indexed by word.
#[derive(Debug, Default)]
pub(in crate::search) struct Matching {
    /// First bytes of all words that can match. Most words of a text begin with other bytes and are skipped.
    first_bytes: FirstBytes,
    /// Phrases in order, with the query positions they match.
    phrases: Vec<(Vec<Option<String>>, RangeInclusive<u32>)>,
    /// First word → indexes of its phrases.
    phrases_at: FxHashMap<String, Vec<usize>>,
    /// Words that must match completely.
    whole: FxHashMap<String, RangeInclusive<u32>>,
    /// Words that also match the beginning of longer words.
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

    /// Returns true if an added word begins with `byte`.
    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] >> (byte % 64) & 1 == 1
    }
}

/// The last word of a query, which may be unfinished.
#[derive(Debug)]
struct Unfinished {
    /// Word → true for a misspelling. Misspellings are tried last.
    words: FxHashMap<String, bool>,
    /// The distinct lengths of the words in bytes, ascending.
    lengths: Vec<usize>,
    /// Number of characters in the query word: at most this many are marked in a match.
    chars: usize,
    positions: RangeInclusive<u32>,
}

impl Matching {
    pub fn new(highlight_terms: HighlightTerms) -> Self {
        let mut matching = Self::default();
        let mut terms = highlight_terms.terms;
        for term in &mut terms {
            for phrase in std::mem::take(&mut term.phrases) {
                let Some(Some(first)) = phrase.first() else { continue };
                phrase.iter().flatten().for_each(|word| matching.first_bytes.add(word));
                matching.phrases_at.entry(first.clone()).or_default().push(matching.phrases.len());
                matching.phrases.push((phrase, term.positions.clone()));
            }
        }
        // Terms that cover more query words are tried first.
        terms.sort_by_key(|term| std::cmp::Reverse(term.ids.end() - term.ids.start()));
        for term in terms {
            if term.words.is_empty() {
                continue;
            }
            term.words.iter().for_each(|(word, _)| matching.first_bytes.add(word));
            if term.unfinished {
                let mut lengths: Vec<usize> = term.words.iter().map(|(word, _)| word.len()).collect();
                lengths.sort_unstable();
                lengths.dedup();
                lengths.retain(|&length| length > 0);
                let mut words = FxHashMap::default();
                for (word, kind) in term.words {
                    words.entry(word).or_insert(kind == MatchKind::Typo);
                }
                let chars = term.text.chars().count();
                let positions = term.positions;
                matching.unfinished.push(Unfinished { words, lengths, chars, positions });
            } else {
                for (word, _) in term.words {
                    matching.whole.entry(word).or_insert_with(|| term.positions.clone());
                }
            }
        }
        matching
    }

    /// Returns true if nothing can match.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty() && self.whole.is_empty() && self.unfinished.is_empty()
    }

    /// Returns all matches in a text, in order.
    pub fn find(&self, words: &Words<'_>) -> Vec<Match> {
        let mut found: Vec<Match> = Vec::new();
        for (at, (word, token)) in words.candidates.iter().enumerate() {
            // A word belongs to one match only.
            if found.last().is_none_or(|last| word > last.words.end()) {
                let matched = self.phrase_at(&words.candidates[at..]);
                found.extend(matched.or_else(|| self.word_at(*word, token)));
            }
        }
        found
    }

    /// Returns a phrase that begins with the first of `candidates`.
    fn phrase_at(&self, candidates: &[(usize, Token<'_>)]) -> Option<Match> {
        let (at, first) = candidates.first()?;
        self.phrases_at.get(first.text.as_ref())?.iter().find_map(|&phrase| {
            let (slots, positions) = &self.phrases[phrase];
            let candidates = candidates.get(..slots.len())?;
            let fits = (*at..).zip(candidates).zip(slots).all(|((word, (here, token)), slot)| {
                word == *here && slot.as_deref() == Some(token.text.as_ref())
            });
            let (last_word, last) = candidates.last()?;
            fits.then(|| Match {
                bytes: first.byte_start..last.byte_end,
                words: *at..=*last_word,
                positions: positions.clone(),
            })
        })
    }

    fn word_at(&self, at: usize, token: &Token<'_>) -> Option<Match> {
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
            let ends = term.lengths.iter().take_while(|&&end| end <= text.len());
            let beginnings = ends.filter_map(|&end| text.get(..end));
            let words = beginnings.filter_map(|word| Some((*term.words.get(word)?, word)));
            // The shortest misspelling counts, because the reference tries them in alphabetical order.
            let (_, word) = words.min()?;
            let bytes: usize = word.chars().take(term.chars).map(char::len_utf8).sum();
            let end = token.byte_start + token.original_bytes(bytes);
            Some(matched(end.min(token.byte_end), &term.positions))
        })
    }
}
