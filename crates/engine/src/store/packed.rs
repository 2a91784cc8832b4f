//! Packs the terms and positions of a document into a single string, which tantivy takes.
//!
//! ```text
//! text   = word*
//! word   = length position term
//! length   = 2 bytes, position = 3 bytes: 0x30 + six bits each, most significant bits first
//! ```
//!
//! Words are already analysed when they are packed. The string only carries them through the tokenizer interface of
//! tantivy, which would otherwise clone every token.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

#[cfg(test)]
use super::schema::parse_term;
use super::schema::{WORD_BYTES_MAX, attribute_suffix};
use super::short_prefixes::word_code::WordCode;
use crate::fields::FieldId;

const LENGTH_BYTES: usize = 2;
const POSITION_BYTES: usize = 3;
const HEAD_BYTES: usize = LENGTH_BYTES + POSITION_BYTES;
/// Bytes of a term after its word: a zero byte and the field suffix.
const TAIL_BYTES: usize = 4;

/// Typical bytes of a word.
const WORD_BYTES_MEAN: usize = 4;

/// Collects the words of one document.
#[derive(Debug, Clone, Default)]
pub struct PackedText {
    packed: String,
    /// A code per word.
    word_codes: Vec<WordCode>,
}

impl PackedText {
    /// Creates an empty text, with capacity for `bytes` of packed words.
    pub fn with_capacity(bytes: usize) -> Self {
        let words = bytes / (HEAD_BYTES + WORD_BYTES_MEAN + TAIL_BYTES);
        Self { packed: String::with_capacity(bytes), word_codes: Vec::with_capacity(words) }
    }

    /// Adds a word of at most [`WORD_BYTES_MAX`] bytes at a position below 2¹⁸.
    ///
    /// Positions of one word in one field must not decrease.
    pub fn push(&mut self, word: &str, field: FieldId, position: u32) {
        debug_assert!(word.len() <= WORD_BYTES_MAX && position < 1 << (6 * POSITION_BYTES));
        let [a, b, c] = attribute_suffix(field);
        let tail: [u8; TAIL_BYTES] = [0, a, b, c];
        self.word_codes.push(WordCode::of(word, field, position));
        let length = (word.len() + tail.len()) as u32;
        self.packed.reserve(HEAD_BYTES + word.len() + tail.len());
        push_digits(&mut self.packed, length, LENGTH_BYTES);
        push_digits(&mut self.packed, position, POSITION_BYTES);
        self.packed.push_str(word);
        self.packed.push_str(std::str::from_utf8(&tail).expect("a suffix is ASCII"));
    }

    /// Returns the packed string.
    pub fn as_str(&self) -> &str {
        &self.packed
    }

    /// Returns the codes of the words for short-prefix lists, in the order of the words.
    pub(super) fn word_codes(&self) -> &[WordCode] {
        &self.word_codes
    }

    /// Returns the words, fields and positions that were pushed.
    #[cfg(test)]
    pub(crate) fn words(&self) -> Vec<(String, FieldId, u32)> {
        let (mut words, mut rest) = (Vec::new(), self.packed.as_str());
        while let Some((position, term)) = next_word(&mut rest) {
            let (word, field) = parse_term(term.as_bytes()).expect("it was pushed");
            words.push((word.to_owned(), field, position as u32));
        }
        words
    }
}

/// Splits off the next word. Returns its position and term.
fn next_word<'a>(rest: &mut &'a str) -> Option<(usize, &'a str)> {
    let (head, others) = rest.split_at_checked(HEAD_BYTES)?;
    let (length, position) = head.as_bytes().split_at(LENGTH_BYTES);
    let (term, others) = others.split_at_checked(read_digits(length))?;
    *rest = others;
    Some((read_digits(position), term))
}

fn push_digits(packed: &mut String, number: u32, digits: usize) {
    for digit in (0..digits).rev() {
        packed.push(char::from(0x30 + ((number >> (6 * digit)) & 0x3f) as u8));
    }
}

fn read_digits(digits: &[u8]) -> usize {
    digits.iter().fold(0, |number, digit| number << 6 | usize::from(digit.wrapping_sub(0x30) & 0x3f))
}

/// Unpacks the string of a [`PackedText`].
#[derive(Debug, Clone, Default)]
pub struct PackedTokenizer {
    token: Token,
}

/// The words of one document.
pub struct PackedStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for PackedTokenizer {
    type TokenStream<'a> = PackedStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> PackedStream<'a> {
        self.token.reset();
        PackedStream { rest: text, token: &mut self.token }
    }
}

impl TokenStream for PackedStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((position, term)) = next_word(&mut self.rest) else { return false };
        self.token.position = position;
        self.token.text.clear();
        self.token.text.push_str(term);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_words_are_unpacked_unchanged() {
        let words = [("a", 0, 0), ("tøken", 1, 65_535), (&"ü".repeat(125), u16::MAX, 7)];
        let mut packed = PackedText::default();
        for (word, field, position) in words {
            packed.push(word, field, position);
        }
        let expected: Vec<_> =
            words.iter().map(|&(word, field, position)| (word.to_owned(), field, position)).collect();
        assert_eq!(packed.words(), expected);
        let mut tokenizer = PackedTokenizer::default();
        let mut terms = Vec::new();
        tokenizer.token_stream(packed.as_str()).process(&mut |token| {
            let (word, field) = parse_term(token.text.as_bytes()).unwrap();
            terms.push((word.to_owned(), field, token.position as u32));
        });
        assert_eq!(terms, expected);
    }
}
