//! Cuts texts in Latin letters, the most common ones, in one pass over their bytes.
//!
//! The result equals that of charabia with default settings; property tests compare them. charabia looks up script,
//! language and marks of every character. Here they are constant: Latin, no language, and no marks in ASCII. Only
//! pieces with other characters, such as `é` or a dash, are normalised by charabia.

use std::borrow::Cow;
use std::sync::LazyLock;

use charabia::Script;
use charabia::separators::{CONTEXT_SEPARATORS, DEFAULT_SEPARATORS};

use super::token::{Piece, TakePieces, Token, TokenKind};

/// Characters above ASCII that a Latin text may contain: Latin letters, dashes and quotes.
const OTHERS: [std::ops::RangeInclusive<char>; 2] = ['\u{80}'..='\u{24f}', '\u{2010}'..='\u{205f}'];

/// The role of a byte when cutting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Part of a word.
    Inner,
    /// Separates neighbouring words.
    Soft,
    /// Separates words that are far apart.
    Hard,
    /// First byte of a character above ASCII.
    Lead,
}

struct Table {
    classes: [Class; 256],
    /// Separators of two bytes.
    pairs: Vec<([u8; 2], TokenKind)>,
    /// By byte: true if a pair begins with it.
    begins_pair: [bool; 256],
    /// For each character of [`OTHERS`]: true if a Latin text may contain it.
    allowed: [Vec<bool>; 2],
    /// For each character of [`OTHERS`]: true if it is a separator.
    separators: [Vec<bool>; 2],
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut classes = [Class::Inner; 256];
    classes[0x80..].fill(Class::Lead);
    let mut pairs = Vec::new();
    for separator in DEFAULT_SEPARATORS.iter().filter(|separator| separator.is_ascii()) {
        let is_hard = CONTEXT_SEPARATORS.contains(separator);
        match *separator.as_bytes() {
            [byte] => classes[usize::from(byte)] = if is_hard { Class::Hard } else { Class::Soft },
            [first, second] => pairs.push(([first, second], separator_kind(is_hard))),
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

fn separator_kind(is_hard: bool) -> TokenKind {
    if is_hard { TokenKind::Hard } else { TokenKind::Soft }
}

/// Looks up `char` in flags by character of [`OTHERS`]. Returns false for other characters.
fn is_flagged(flags: &[Vec<bool>; 2], char: char) -> bool {
    let place = OTHERS.iter().position(|range| range.contains(&char));
    place.is_some_and(|at| flags[at][char as usize - *OTHERS[at].start() as usize])
}

/// Returns true if [`each`] can cut `text`: printable ASCII and line ends, or Latin letters with some of [`OTHERS`].
pub fn is_latin(text: &str) -> bool {
    if text.is_ascii() {
        // A loop without an early exit checks many bytes per instruction.
        return text
            .as_bytes()
            .chunks(BYTES_AT_ONCE)
            .all(|bytes| bytes.iter().fold(true, |all, &byte| all & is_printable(byte)));
    }
    // Without an ASCII letter the text would have no script.
    text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && text.chars().all(|char| match u8::try_from(char) {
            Ok(byte) if byte.is_ascii() => is_printable(byte),
            _ => is_flagged(&TABLE.allowed, char),
        })
}

const BYTES_AT_ONCE: usize = 256;

fn is_printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) | (byte == b'\t') | (byte == b'\n') | (byte == b'\r')
}

/// Passes the tokens of a text for which [`is_latin`] is true to `take`. `is_stop_word` gets pieces as they are
/// written. `normalize` makes tokens of pieces that are not ASCII; its second argument is the first byte of the piece.
pub fn each<'t>(
    text: &'t str,
    is_stop_word: impl Fn(&str) -> bool,
    normalize: impl Fn(&'t str, usize) -> Token<'t>,
    mut take: impl FnMut(Token<'t>),
) {
    cut(text, |start, end, form| {
        let lemma = &text[start..end];
        take(match form {
            Form::Other => normalize(lemma, start),
            // A separator can be a stop word too.
            Form::Ascii(_) if is_stop_word(lemma) => token(lemma, start, TokenKind::StopWord),
            Form::Ascii(kind) => token(lemma, start, kind),
        });
    });
}

/// Cuts such a text without regard to stop words. Calls `take` with the token of each piece that is not ASCII, or that is
/// a word with a wanted first byte in lower case, and `pass` for each other piece.
pub fn pieces<'t>(
    text: &'t str,
    is_wanted: impl Fn(u8) -> bool,
    normalize: impl Fn(&'t str, usize) -> Token<'t>,
    taker: &mut impl TakePieces<'t>,
) {
    cut(text, |start, end, form| match form {
        Form::Other => taker.take(normalize(&text[start..end], start)),
        Form::Ascii(TokenKind::Word) if is_wanted(text.as_bytes()[start].to_ascii_lowercase()) => {
            taker.take(token(&text[start..end], start, TokenKind::Word));
        }
        Form::Ascii(kind) => taker.pass(Piece { start: start as u32, end: end as u32, kind }),
    });
}

/// Turns an ASCII piece into a token.
fn token(lemma: &str, start: usize, kind: TokenKind) -> Token<'_> {
    let has_upper = lemma.bytes().any(|byte| byte.is_ascii_uppercase());
    let text = if has_upper { Cow::Owned(lemma.to_ascii_lowercase()) } else { Cow::Borrowed(lemma) };
    Token { text, byte_start: start, byte_end: start + lemma.len(), kind, char_map: None }
}

/// How a piece becomes a token.
#[derive(Clone, Copy)]
enum Form {
    /// ASCII only.
    Ascii(TokenKind),
    /// With characters above ASCII.
    Other,
}

/// Cuts a Latin text. Passes first byte, end and form of each piece to `emit`.
fn cut(text: &str, mut emit: impl FnMut(usize, usize, Form)) {
    let (table, bytes) = (&*TABLE, text.as_bytes());
    let (mut start, mut at, mut word) = (0, 0, Form::Ascii(TokenKind::Word));
    loop {
        while at < bytes.len() && table.classes[usize::from(bytes[at])] == Class::Inner {
            at += 1;
        }
        let Some(&byte) = bytes.get(at) else { break };
        let (length, separator) = match table.classes[usize::from(byte)] {
            Class::Lead => {
                let char = text[at..].chars().next().unwrap_or_default();
                if !is_flagged(&table.separators, char) {
                    (word, at) = (Form::Other, at + char.len_utf8());
                    continue;
                }
                (char.len_utf8(), Form::Other)
            }
            class => {
                let pairs: &[_] = if table.begins_pair[usize::from(byte)] { &table.pairs } else { &[] };
                let pair = pairs.iter().find(|(pair, _)| bytes[at..].starts_with(pair));
                let (length, kind) =
                    pair.map_or((1, separator_kind(class == Class::Hard)), |&(_, kind)| (2, kind));
                (length, Form::Ascii(kind))
            }
        };
        if start < at {
            emit(start, at, word);
        }
        emit(at, at + length, separator);
        at += length;
        (start, word) = (at, Form::Ascii(TokenKind::Word));
    }
    if start < at {
        emit(start, at, word);
    }
}
