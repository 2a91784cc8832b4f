//! Words, keywords and quoting.

use std::fmt;

/// Words that mean something to the grammar, so that as texts they have to be quoted.
const KEYWORDS: [&str; 14] = [
    "AND",
    "OR",
    "IN",
    "NOT",
    "TO",
    "EXISTS",
    "IS",
    "NULL",
    "EMPTY",
    "CONTAINS",
    "STARTS",
    "WITH",
    "_geoRadius",
    "_geoBoundingBox",
];

pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// What a test of vectors begins with.
pub(crate) const VECTORS: &str = "_vectors";

/// Whether a word in the place of a field begins a test of vectors; a field of that name has to be quoted.
pub(crate) fn begins_vectors(word: &str) -> bool {
    word.strip_prefix(VECTORS).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Writes `text` so that it is read back as the same text, quoted only if it has to be.
pub(crate) fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    if !text.is_empty() && text.chars().all(is_word_char) && !is_keyword(text) && !begins_vectors(text) {
        return f.write_str(text);
    }
    write_quoted(f, text)
}

/// The same for one of several names with dots between them.
pub(crate) fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if !name.is_empty() && name.chars().all(|c| is_word_char(c) && c != '.') {
        return f.write_str(name);
    }
    write_quoted(f, name)
}

fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    use fmt::Write as _;

    f.write_char('\'')?;
    for c in text.chars() {
        match c {
            '\'' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('\'')
}
