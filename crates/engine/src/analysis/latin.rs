//! Texts in Latin letters, which most are: cut in one pass over their bytes.
//!
//! Gives exactly what charabia gives for them without settings of the index's own; property tests hold both together.
//! charabia asks every character for its script, language and marks, and here the answers are known: Latin, none, and
//! for ASCII none. Only pieces with other characters, `é` or a dash, are handed to it to be normalised.

use std::borrow::Cow;
use std::sync::LazyLock;

use charabia::Script;
use charabia::separators::{CONTEXT_SEPARATORS, DEFAULT_SEPARATORS};

use super::token::{Piece, TakePieces, Token, TokenKind};

/// Characters above ASCII that may be in such a text: Latin letters, and the dashes and quotes between them.
const OTHERS: [std::ops::RangeInclusive<char>; 2] = ['\u{80}'..='\u{24f}', '\u{2010}'..='\u{205f}'];

/// What a byte means to the cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Of a word.
    Inner,
    /// Parts words that are neighbours.
    Soft,
    /// Parts words that are far apart.
    Hard,
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
    classes[0x80..].fill(Class::Lead);
    let mut pairs = Vec::new();
    for separator in DEFAULT_SEPARATORS.iter().filter(|separator| separator.is_ascii()) {
        let is_hard = CONTEXT_SEPARATORS.contains(separator);
        match *separator.as_bytes() {
            [byte] => classes[usize::from(byte)] = if is_hard { Class::Hard } else { Class::Soft },
            [first, second] => pairs.push(([first, second], separates(is_hard))),
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

fn separates(is_hard: bool) -> TokenKind {
    if is_hard { TokenKind::Hard } else { TokenKind::Soft }
}

/// What is said of a character of [`OTHERS`]; false for any other.
fn among(said: &[Vec<bool>; 2], char: char) -> bool {
    let place = OTHERS.iter().position(|range| range.contains(&char));
    place.is_some_and(|at| said[at][char as usize - *OTHERS[at].start() as usize])
}

/// Whether [`each`] may be asked: printable ASCII, ends of lines, and beside letters of ASCII some above it.
pub fn is_latin(text: &str) -> bool {
    if text.is_ascii() {
        // Without a way out in between, bytes are looked at many at a time.
        return text
            .as_bytes()
            .chunks(BYTES_AT_ONCE)
            .all(|bytes| bytes.iter().fold(true, |all, &byte| all & is_printable(byte)));
    }
    // Without a letter it would be of no script.
    text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && text.chars().all(|char| match u8::try_from(char) {
            Ok(byte) if byte.is_ascii() => is_printable(byte),
            _ => among(&TABLE.allowed, char),
        })
}

const BYTES_AT_ONCE: usize = 256;

fn is_printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) | (byte == b'\t') | (byte == b'\n') | (byte == b'\r')
}

/// Hands over the tokens of a text that [`is_latin`]. `is_stop_word` is asked about pieces as they are written;
/// `normalize` makes tokens of those that are not ASCII, given where they begin.
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

/// Hands over the pieces of such a text, without stop words: `taker` takes words whose normalised text may begin with a
/// byte that `is_wanted`, and what is not ASCII; other pieces pass.
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

/// A piece of ASCII as a token.
fn token(lemma: &str, start: usize, kind: TokenKind) -> Token<'_> {
    let has_upper = lemma.bytes().any(|byte| byte.is_ascii_uppercase());
    let text = if has_upper { Cow::Owned(lemma.to_ascii_lowercase()) } else { Cow::Borrowed(lemma) };
    Token { text, byte_start: start, byte_end: start + lemma.len(), kind, char_map: None }
}

/// How a piece becomes a token.
#[derive(Clone, Copy)]
enum Form {
    /// Of ASCII.
    Ascii(TokenKind),
    /// With other characters.
    Other,
}

/// Cuts such a text: begin, end and form of its pieces.
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
                if !among(&table.separators, char) {
                    (word, at) = (Form::Other, at + char.len_utf8());
                    continue;
                }
                (char.len_utf8(), Form::Other)
            }
            class => {
                let pairs: &[_] = if table.begins_pair[usize::from(byte)] { &table.pairs } else { &[] };
                let pair = pairs.iter().find(|(pair, _)| bytes[at..].starts_with(pair));
                let (length, kind) =
                    pair.map_or((1, separates(class == Class::Hard)), |&(_, kind)| (2, kind));
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
