//! Texts of plain ASCII, which most are: cut in one pass over their bytes.
//!
//! Gives exactly what charabia gives for them without settings of the index's own; a property test holds both
//! together. charabia asks for every character's script, language and marks, and for ASCII the answers are
//! known: Latin, none, none.

use std::borrow::Cow;
use std::sync::LazyLock;

use charabia::separators::{CONTEXT_SEPARATORS, DEFAULT_SEPARATORS};

use super::{Token, TokenKind};

/// What each byte is: part of a word, a separator, or the first of a longer separator.
struct Table {
    single: [Option<TokenKind>; 128],
    /// Separators of two bytes.
    pairs: Vec<([u8; 2], TokenKind)>,
    /// Bytes that a pair begins with.
    begins: [bool; 128],
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { single: [None; 128], pairs: Vec::new(), begins: [false; 128] };
    for separator in DEFAULT_SEPARATORS.iter().filter(|separator| separator.is_ascii()) {
        let hard = CONTEXT_SEPARATORS.contains(separator);
        let kind = if hard { TokenKind::Hard } else { TokenKind::Soft };
        match *separator.as_bytes() {
            [byte] => table.single[usize::from(byte)] = Some(kind),
            [first, second] => {
                table.pairs.push(([first, second], kind));
                table.begins[usize::from(first)] = true;
            }
            _ => debug_assert!(false, "{separator:?} is longer than two bytes"),
        }
    }
    table
});

/// Whether [`each`] may be asked: nothing but printable ASCII, tabs and ends of lines.
pub fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r'))
}

/// Hands over the tokens of a plain text. `is_stop_word` is asked about them as they are written.
pub fn each<'t>(text: &'t str, is_stop_word: impl Fn(&str) -> bool, mut take: impl FnMut(Token<'t>)) {
    let (table, bytes) = (&*TABLE, text.as_bytes());
    let mut piece = |start: usize, end: usize, kind: TokenKind, upper: bool| {
        let lemma = &text[start..end];
        // A separator can be a stop word too.
        let kind = if is_stop_word(lemma) { TokenKind::StopWord } else { kind };
        let text = if upper { Cow::Owned(lemma.to_ascii_lowercase()) } else { Cow::Borrowed(lemma) };
        take(Token { text, byte_start: start, byte_end: end, kind, char_map: None });
    };
    let (mut word, mut upper, mut at) = (0, false, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        let pair = if table.begins[usize::from(byte)] {
            table.pairs.iter().find(|(pair, _)| bytes.get(at + 1) == Some(&pair[1]) && byte == pair[0])
        } else {
            None
        };
        let separator = match pair {
            Some((_, kind)) => Some((2, *kind)),
            None => table.single[usize::from(byte)].map(|kind| (1, kind)),
        };
        match separator {
            Some((length, kind)) => {
                if word < at {
                    piece(word, at, TokenKind::Word, upper);
                }
                piece(at, at + length, kind, false);
                at += length;
                (word, upper) = (at, false);
            }
            None => {
                upper |= byte.is_ascii_uppercase();
                at += 1;
            }
        }
    }
    if word < at {
        piece(word, at, TokenKind::Word, upper);
    }
}
