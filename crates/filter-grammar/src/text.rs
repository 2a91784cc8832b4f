//! Words, keywords and quoting.

use std::fmt;

/// Keywords of the grammar. As texts they must be quoted.
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

/// The beginning of a condition on vectors.
pub(crate) const VECTORS: &str = "_vectors";

/// Returns true if a word in the place of a field begins a condition on vectors. A field with such a name must be
/// quoted.
pub(crate) fn begins_vectors(word: &str) -> bool {
    word.strip_prefix(VECTORS).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Writes `text` so that it parses to the same text; quoted only if necessary.
pub(crate) fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    if !text.is_empty() && text.chars().all(is_word_char) && !is_keyword(text) && !begins_vectors(text) {
        return f.write_str(text);
    }
    write_quoted(f, text)
}

/// Like [`write_text`], for one of several names separated by dots.
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
