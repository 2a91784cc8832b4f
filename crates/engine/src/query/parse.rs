//! Parses the tokens of a query into terms and exclusions.
//!
//! ```text
//! query    = { word | phrase | "-" word | "-" phrase | separator }
//! phrase   = '"' { word | stop word | soft separator } ( '"' | hard separator | end )
//! ```
//!
//! A hard separator inside a phrase closes it and opens another. `-` negates at the start of the query or after white
//! space, if a word or a quotation mark follows directly. Source: search §4.

use std::ops::RangeInclusive;

use super::limits::TOKENS_MAX;
use crate::analysis::{StopWordLists, Token, TokenKind};

/// Words of a phrase in order. A gap, left by a stop word, matches any single word.
pub type Slots = Vec<Option<String>>;

/// A parsed query.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ParsedQuery {
    /// In order; the index is the id.
    pub terms: Vec<QueryTerm>,
    /// Words that exclude a document.
    pub negative_words: Vec<String>,
    /// Phrases that exclude a document.
    pub negative_phrases: Vec<Slots>,
    /// Stop words of the settings or of their lists, which are not searched.
    pub ignored: Vec<String>,
}

/// A term that hits should contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTerm {
    /// The word or phrase to find.
    pub text: TermText,
    /// Positions it covers in the query.
    pub positions: RangeInclusive<u32>,
    /// True for a word that follows another without a separator.
    pub is_attached: bool,
}

/// A word or a quoted phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TermText {
    /// If `unfinished`, all words with this prefix match too.
    Word {
        /// Analysed text.
        word: String,
        /// True if it ends the query.
        unfinished: bool,
    },
    /// At least one slot is a word.
    Phrase(Slots),
}

/// Distance that a hard separator adds between two words, in addition to one for the word itself.
const HARD_SEPARATOR_STEP: i64 = 7;

impl ParsedQuery {
    /// Returns true if the query excludes something with `-`.
    pub fn used_negative_operator(&self) -> bool {
        !self.negative_words.is_empty() || !self.negative_phrases.is_empty()
    }

    /// Parses a query like [`Self::parse_all`], but words of `lists` are searched only in phrases and at the end of the query, unless
    /// nothing else is left.
    pub fn parse(tokens: &[Token<'_>], complete_last: bool, terms_max: usize, lists: &StopWordLists) -> Self {
        let query = Self::parse_all(tokens, complete_last, terms_max, lists);
        if query.terms.is_empty() && !query.ignored.is_empty() {
            return Self::parse_all(tokens, complete_last, terms_max, &StopWordLists::default());
        }
        query
    }

    /// Reads at most [`TOKENS_MAX`] tokens and `terms_max` terms and ignores the rest. The last word is unfinished if
    /// nothing follows it and `complete_last` is set.
    fn parse_all(tokens: &[Token<'_>], complete_last: bool, terms_max: usize, lists: &StopWordLists) -> Self {
        let tokens = &tokens[..tokens.len().min(TOKENS_MAX)];
        let mut parser = Parser {
            query: Self::default(),
            position: -1,
            phrase: None,
            negate: false,
            is_attached: false,
            lists,
        };
        for (at, token) in tokens.iter().enumerate() {
            if parser.query.terms.len() >= terms_max {
                return parser.query;
            }
            if token.text.is_empty() {
                continue;
            }
            let (before, after) = (&tokens[..at], &tokens[at + 1..]);
            match token.kind {
                TokenKind::Word | TokenKind::StopWord => {
                    parser.is_attached = before.last().is_some_and(Token::is_word);
                    parser.word(token, after.is_empty(), complete_last);
                }
                TokenKind::Soft | TokenKind::Hard => {
                    parser.separator(token);
                    parser.negate |= parser.phrase.is_none() && negates(before, token, after);
                }
            }
        }
        parser.close_phrase();
        parser.query
    }
}

/// Returns true if `token` excludes the following word or phrase. Words without characters do not count.
fn negates(before: &[Token<'_>], token: &Token<'_>, after: &[Token<'_>]) -> bool {
    let counts = |token: &&Token<'_>| !token.text.is_empty();
    // A full stop and a blank are a single token; only its end matters.
    let is_free =
        || before.iter().rev().find(counts).is_none_or(|before| before.text.ends_with(char::is_whitespace));
    let is_attached = || {
        after.iter().find(counts).is_some_and(|next| match next.kind {
            TokenKind::Word | TokenKind::StopWord => true,
            TokenKind::Soft | TokenKind::Hard => next.text == "\"",
        })
    };
    token.text == "-" && is_free() && is_attached()
}

struct Parser<'l> {
    lists: &'l StopWordLists,
    query: ParsedQuery,
    position: i64,
    phrase: Option<OpenPhrase>,
    /// True if the next word or phrase is excluded.
    negate: bool,
    /// True if the word follows another without a separator.
    is_attached: bool,
}

#[derive(Default)]
struct OpenPhrase {
    slots: Slots,
    start: u32,
    end: u32,
}

impl Parser<'_> {
    fn word(&mut self, token: &Token<'_>, is_last: bool, complete_last: bool) {
        self.position += 1;
        let position = u32::try_from(self.position).unwrap_or(u32::MAX);
        let is_stop_word = token.kind == TokenKind::StopWord;
        let word = token.text.to_string();
        if let Some(phrase) = &mut self.phrase {
            // A phrase starts at its first word; leading stop words do not count.
            if phrase.slots.iter().all(Option::is_none) {
                phrase.start = position;
            }
            phrase.end = position;
            phrase.slots.push((!is_stop_word).then_some(word));
        } else if std::mem::take(&mut self.negate) {
            self.query.negative_words.push(word);
        } else if is_last || !(is_stop_word || self.lists.contains(&word)) {
            let text = TermText::Word { word, unfinished: is_last && complete_last };
            let term = QueryTerm { text, positions: position..=position, is_attached: self.is_attached };
            self.query.terms.push(term);
        } else {
            self.query.ignored.push(word);
        }
    }

    fn separator(&mut self, token: &Token<'_>) {
        if token.kind == TokenKind::Hard {
            self.position += HARD_SEPARATOR_STEP;
            if self.phrase.is_some() {
                let negate = self.negate;
                self.close_phrase();
                // The second part of an excluded phrase is excluded too.
                self.negate = negate;
                self.phrase = Some(OpenPhrase::default());
            }
        }
        for _ in token.text.matches('"') {
            if self.phrase.is_some() {
                self.close_phrase();
            } else {
                self.phrase = Some(OpenPhrase::default());
            }
        }
    }

    fn close_phrase(&mut self) {
        let Some(phrase) = self.phrase.take() else { return };
        let negative = std::mem::take(&mut self.negate);
        if phrase.slots.iter().all(Option::is_none) {
            return;
        }
        if negative {
            self.query.negative_phrases.push(phrase.slots);
        } else {
            let positions = phrase.start..=phrase.end;
            let text = TermText::Phrase(phrase.slots);
            self.query.terms.push(QueryTerm { text, positions, is_attached: false });
        }
    }
}
