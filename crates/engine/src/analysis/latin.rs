//! Texts in Latin letters, which most are: cut in one pass over their bytes.
//!
//! Gives exactly what charabia gives for them without settings of the index's own; property tests hold both together.
//! charabia asks every character for its script, language and marks, and here the answers are known: Latin, none, and
//! for ASCII none. Only pieces with other characters, `é` or a dash, are handed to it to be normalised.

use std::borrow::Cow;
use std::sync::LazyLock;

use charabia::Script;
use charabia::separators::{CONTEXT_SEPARATORS, DEFAULT_SEPARATORS};

use super::{Token, TokenKind};

/// Characters above ASCII that may be in such a text: Latin letters, and the dashes and quotes between them.
const OTHERS: [std::ops::RangeInclusive<char>; 2] = ['\u{80}'..='\u{24f}', '\u{2010}'..='\u{205f}'];

/// What a byte means to the cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Of a word.
    Inner,
    /// Of a word, and becomes another letter.
    Upper,
    /// Parts words.
    Separator(TokenKind),
    /// Begins a character above ASCII.
    Lead,
}

struct Table {
    classes: [Class; 256],
    /// Separators of two bytes.
    pairs: Vec<([u8; 2], TokenKind)>,
    /// Whether one of them begins with a byte.
    begins_pair: [bool; 256],
    /// Which of [`OTHERS`] a text may have, and which of those are separators.
    allowed: [Vec<bool>; 2],
    separators: [Vec<bool>; 2],
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut classes = [Class::Inner; 256];
    classes[b'A'.into()..=b'Z'.into()].fill(Class::Upper);
    classes[0x80..].fill(Class::Lead);
    let mut pairs = Vec::new();
    for separator in DEFAULT_SEPARATORS.iter().filter(|separator| separator.is_ascii()) {
        let hard = CONTEXT_SEPARATORS.contains(separator);
        let kind = if hard { TokenKind::Hard } else { TokenKind::Soft };
        match *separator.as_bytes() {
            [byte] => classes[usize::from(byte)] = Class::Separator(kind),
            [first, second] => pairs.push(([first, second], kind)),
            _ => debug_assert!(false, "{separator:?} is longer than two bytes"),
        }
    }
    let each = |is: fn(char) -> bool| OTHERS.map(|range| range.map(is).collect());
    let begins_pair = std::array::from_fn(|byte| pairs.iter().any(|(pair, _)| usize::from(pair[0]) == byte));
    Table {
        classes,
        pairs,
        begins_pair,
        allowed: each(|char| {
            !char.is_control() && matches!(Script::from(char), Script::Latin | Script::Other)
        }),
        separators: each(|char| DEFAULT_SEPARATORS.contains(&&*char.encode_utf8(&mut [0; 4]))),
    }
});

/// What is said of a character of [`OTHERS`]; false for any other.
fn among(said: &[Vec<bool>; 2], char: char) -> bool {
    let place = OTHERS.iter().position(|range| range.contains(&char));
    place.is_some_and(|at| said[at][char as usize - *OTHERS[at].start() as usize])
}

/// Whether [`each`] may be asked: printable ASCII, ends of lines, and beside letters of ASCII some above it.
pub fn is_latin(text: &str) -> bool {
    if text.is_ascii() {
        return text.bytes().all(is_printable);
    }
    // Without a letter it would be of no script.
    text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && text.chars().all(|char| match u8::try_from(char) {
            Ok(byte) if byte.is_ascii() => is_printable(byte),
            _ => among(&TABLE.allowed, char),
        })
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

/// Hands over the tokens of a text that [`is_latin`]. Words of ASCII are normalised if their first letter, in lower case,
/// `is_wanted`. `is_stop_word` is asked about pieces as they are written; `normalize` makes tokens of those that are not
/// ASCII, given where they begin.
pub fn each<'t>(
    text: &'t str,
    is_wanted: impl Fn(u8) -> bool,
    is_stop_word: impl Fn(&str) -> bool,
    normalize: impl Fn(&'t str, usize) -> Token<'t>,
    mut take: impl FnMut(Token<'t>),
) {
    let (table, bytes) = (&*TABLE, text.as_bytes());
    let mut emit = |start: usize, end: usize, piece: Piece| {
        let lemma = &text[start..end];
        take(match piece {
            Piece::Other => normalize(lemma, start),
            Piece::Ascii { kind, upper } => Token {
                text: match upper && is_wanted(bytes[start].to_ascii_lowercase()) {
                    true => Cow::Owned(lemma.to_ascii_lowercase()),
                    false => Cow::Borrowed(lemma),
                },
                byte_start: start,
                byte_end: end,
                // A separator can be a stop word too.
                kind: if is_stop_word(lemma) { TokenKind::StopWord } else { kind },
                char_map: None,
            },
        });
    };
    const LOWER: Piece = Piece::Ascii { kind: TokenKind::Word, upper: false };
    const UPPER: Piece = Piece::Ascii { kind: TokenKind::Word, upper: true };
    let (mut start, mut word, mut at) = (0, LOWER, 0);
    while at < bytes.len() {
        let (length, separator) = match table.classes[usize::from(bytes[at])] {
            // Most bytes are of words, and have others beside them.
            Class::Inner => {
                let inner = |&&byte: &&u8| table.classes[usize::from(byte)] == Class::Inner;
                (1 + bytes[at + 1..].iter().take_while(inner).count(), None)
            }
            Class::Upper => {
                if word == LOWER {
                    word = UPPER;
                }
                (1, None)
            }
            Class::Separator(kind) => {
                let pairs: &[_] = if table.begins_pair[usize::from(bytes[at])] { &table.pairs } else { &[] };
                let pair = pairs.iter().find(|(pair, _)| bytes[at..].starts_with(pair));
                let (length, kind) = pair.map_or((1, kind), |&(_, kind)| (2, kind));
                (length, Some(Piece::Ascii { kind, upper: false }))
            }
            Class::Lead => {
                let char = text[at..].chars().next().unwrap_or_default();
                let separates = among(&table.separators, char);
                if !separates {
                    word = Piece::Other;
                }
                (char.len_utf8(), separates.then_some(Piece::Other))
            }
        };
        if let Some(separator) = separator {
            if start < at {
                emit(start, at, word);
            }
            emit(at, at + length, separator);
            (start, word) = (at + length, LOWER);
        }
        at += length;
    }
    if start < at {
        emit(start, at, word);
    }
}

/// How a piece becomes a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// Of ASCII.
    Ascii { kind: TokenKind, upper: bool },
    /// With other characters.
    Other,
}
