//! Codes of the initials that are distinguished.

use crate::store::schema::is_numeric;

/// Code of words that begin with none of [`LETTERS`].
pub(super) const OTHER: u8 = 0;

/// First code of words that begin with a digit; the codes of plain numbers are [`NUMBERS`] higher.
const DIGITS: u8 = 1;

const NUMBERS: u8 = 10;

/// The code of the first letter.
const FIRST_LETTER: u8 = DIGITS + 2 * NUMBERS;

/// Letters that have a code: Latin, Greek, Cyrillic, Hebrew and Arabic, as words are written in an index.
const LETTERS: [(char, char); 5] = [
    ('a', 'z'),
    ('\u{3b1}', '\u{3c9}'),
    ('\u{430}', '\u{45f}'),
    ('\u{5d0}', '\u{5ea}'),
    ('\u{620}', '\u{64a}'),
];

/// The least number that is not a code.
pub(super) const CODES: u8 = 0xe0;

/// Bytes from here on skip positions without a word: this one skips one position, the next one two.
pub(super) const GAP: u8 = CODES;

const _: () = {
    let (mut code, mut at) = (FIRST_LETTER as u32, 0);
    while at < LETTERS.len() {
        code += LETTERS[at].1 as u32 - LETTERS[at].0 as u32 + 1;
        at += 1;
    }
    assert!(code <= CODES as u32, "there are more letters than codes");
};

/// The initial that a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Initial {
    /// Its code for words that are not numbers.
    pub(super) word: u8,
    /// Its code for numbers if it is a digit, otherwise equal to `word`.
    pub(super) number: u8,
}

impl Initial {
    /// The initial that `text` consists of; `None` if `text` is longer or empty, or if its letter has no
    /// code.
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

/// The code of the initial of a word.
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
    fn each_letter_has_a_code_of_its_own() {
        let mut codes: BTreeMap<u8, char> = BTreeMap::new();
        for letter in '\0'..='\u{ffff}' {
            if let Some(code) = code(letter) {
                assert!(code != OTHER && code < CODES, "{letter:?}");
                assert_eq!(codes.insert(code, letter), None, "{letter:?}");
            }
        }
        for (word, initial) in [("9", "9"), ("1st", "1"), ("zebra", "z"), ("ώρα", "ώ"), ("ёж", "ё")] {
            let initial = Initial::of(initial);
            let code = code_of(word);
            assert_eq!(
                initial.is_some_and(|asked| [asked.word, asked.number].contains(&code)),
                word != "ώρα"
            );
        }
    }

    #[test]
    fn a_number_is_told_from_a_word_that_begins_with_a_digit() {
        let one = Initial::of("1").unwrap();
        assert_eq!((code_of("1st"), code_of("1990")), (one.word, one.number));
        assert_ne!(one.word, one.number);
    }

    #[test]
    fn only_one_letter_is_an_initial() {
        for text in ["", "ab", "1a", "É", "東", "-"] {
            assert_eq!(Initial::of(text), None, "{text:?}");
        }
    }
}
