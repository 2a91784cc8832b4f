//! Codes of first letters.

use crate::store::schema::is_numeric;

/// Code of words that do not begin with a digit or with any of [`LETTERS`].
pub(super) const OTHER: u8 = 0;

/// Code of words that begin with the digit 0; the codes of numbers are higher by [`NUMBERS`].
const DIGITS: u8 = 1;

const NUMBERS: u8 = 10;

/// Code of the first of [`LETTERS`].
const FIRST_LETTER: u8 = DIGITS + 2 * NUMBERS;

/// Letters with a code: Latin, Greek, Cyrillic, Hebrew and Arabic, in the normalised form of the index.
const LETTERS: [(char, char); 5] = [
    ('a', 'z'),
    ('\u{3b1}', '\u{3c9}'),
    ('\u{430}', '\u{45f}'),
    ('\u{5d0}', '\u{5ea}'),
    ('\u{620}', '\u{64a}'),
];

/// Codes are below this.
pub(super) const CODES: u8 = 0xe0;

/// Bytes from here on skip positions without a word: this byte skips one position, the next one two, and so on.
pub(super) const GAP: u8 = CODES;

const _: () = {
    let (mut code, mut at) = (FIRST_LETTER as u32, 0);
    while at < LETTERS.len() {
        code += LETTERS[at].1 as u32 - LETTERS[at].0 as u32 + 1;
        at += 1;
    }
    assert!(code <= CODES as u32, "there are more letters than codes");
};

/// A prefix of one letter in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortPrefix {
    /// Code of words with this prefix that are not numbers.
    pub(super) word: u8,
    /// Code of numbers with this prefix if it is a digit, otherwise equal to `word`.
    pub(super) number: u8,
}

impl ShortPrefix {
    /// Parses a prefix; `None` if `text` is empty, longer than a letter, or a letter without a code.
    pub fn of(text: &str) -> Option<Self> {
        let mut letters = text.chars();
        let (Some(letter), None) = (letters.next(), letters.next()) else { return None };
        let word = code(letter)?;
        Some(Self { word, number: if word < FIRST_LETTER { word + NUMBERS } else { word } })
    }
}

fn code(letter: char) -> Option<u8> {
    if let Some(digit) = letter.to_digit(10) {
        return Some(DIGITS + digit as u8);
    }
    let mut code = u32::from(FIRST_LETTER);
    for (first, last) in LETTERS {
        if (first..=last).contains(&letter) {
            return Some((code + u32::from(letter) - u32::from(first)) as u8);
        }
        code += u32::from(last) - u32::from(first) + 1;
    }
    None
}

/// Returns the code of the first letter of a word.
pub(super) fn code_of(word: &str) -> u8 {
    match word.chars().next().and_then(code) {
        Some(code) if code < FIRST_LETTER && is_numeric(word) => code + NUMBERS,
        Some(code) => code,
        None => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn letters_have_distinct_codes() {
        let mut codes: BTreeMap<u8, char> = BTreeMap::new();
        for letter in '\0'..='\u{ffff}' {
            if let Some(code) = code(letter) {
                assert!(code != OTHER && code < CODES, "{letter:?}");
                assert_eq!(codes.insert(code, letter), None, "{letter:?}");
            }
        }
        for (word, prefix) in [("9", "9"), ("1st", "1"), ("zebra", "z"), ("ώρα", "ώ"), ("ёж", "ё")] {
            let prefix = ShortPrefix::of(prefix);
            let code = code_of(word);
            assert_eq!(
                prefix.is_some_and(|prefix| [prefix.word, prefix.number].contains(&code)),
                word != "ώρα"
            );
        }
    }

    #[test]
    fn numbers_and_words_with_the_same_digit_have_distinct_codes() {
        let one = ShortPrefix::of("1").unwrap();
        assert_eq!((code_of("1st"), code_of("1990")), (one.word, one.number));
        assert_ne!(one.word, one.number);
    }

    #[test]
    fn only_a_letter_with_a_code_is_a_short_prefix() {
        for text in ["", "ab", "1a", "É", "東", "-"] {
            assert_eq!(ShortPrefix::of(text), None, "{text:?}");
        }
    }
}
