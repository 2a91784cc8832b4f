//! The tantivy fields of an index, and the terms in them.
//!
//! ```text
//! text      term = token ‖ 0x00 ‖ suffix      positions of the word in that attribute
//! lengths   term = decimal ‖ 0x00 ‖ suffix    exact number of stored words in that attribute (≤ 30)
//! presence  term = kind ‖ 0x00 ‖ path         kind: e exists, n is null, m is empty, t top-level name,
//!                                             x is malformed, l has a string too long for a column
//! suffix    = three bytes, each 0x30 + six bits of the field id, most significant first
//! columns   string = normalised ‖ 0x00 ‖ original
//! ```
//!
//! A zero byte sorts before any other byte, so all attributes of a token are adjacent and tokens keep their order. The
//! suffix has no zero byte and a fixed length, so a term is split from its end.

use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, JsonObjectOptions, NumericOptions, Schema, TextFieldIndexing,
    TextOptions,
};

use crate::fields::FieldId;

/// Version of the files that the engine writes. Newer versions are refused, older ones are upgraded.
pub const FORMAT_VERSION: u32 = 2;

/// Oldest version that can be read. Its segments have no short-prefix lists.
pub const FORMAT_VERSION_MIN: u32 = 1;

/// Name of the tokenizer that unpacks terms written by `indexing`.
pub const PACKED_TOKENIZER: &str = "packed";

/// Longest word that is indexed, in bytes. Source: documents §4.2.
pub const WORD_BYTES_MAX: usize = 250;

/// Words beyond this position of an attribute are not searchable. Source: documents §4.2.
pub const POSITIONS_MAX: u32 = 65_536;

/// Attributes with more words have no `lengths` term. Source: search §3.3.
pub const LENGTH_MAX: usize = 30;

/// Bytes of the normalised form of a string in a column. Source: documents §4.2.
pub const COLUMN_BYTES_MAX: usize = 468;

const SUFFIX_BYTES: usize = 3;

/// The tantivy fields of an index, which are the same for every index.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// Primary key as text.
    pub id: Field,
    /// The docid.
    pub docid: Field,
    /// The document's JSON bytes.
    pub source: Field,
    /// Every word of every field.
    pub text: Field,
    /// Number of stored words of each field.
    pub lengths: Field,
    /// Paths that exist, are null, are empty and so on, see [`Presence`].
    pub presence: Field,
    /// Values by dotted path.
    pub columns: Field,
}

/// Names of the tantivy fields, for readers that open columns by name.
pub mod names {
    /// See [`super::Fields::id`].
    pub const ID: &str = "_id";
    /// See [`super::Fields::docid`].
    pub const DOCID: &str = "_docid";
    /// See [`super::Fields::source`].
    pub const SOURCE: &str = "_source";
    /// See [`super::Fields::text`].
    pub const TEXT: &str = "text";
    /// See [`super::Fields::lengths`].
    pub const LENGTHS: &str = "lengths";
    /// See [`super::Fields::presence`].
    pub const PRESENCE: &str = "presence";
    /// See [`super::Fields::columns`].
    pub const COLUMNS: &str = "columns";
}

/// Builds the schema of every index, and its fields.
pub fn build() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let docs_only = || {
        TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer("raw")
                .set_index_option(IndexRecordOption::Basic)
                .set_fieldnorms(false),
        )
    };
    let positions = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(PACKED_TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions)
            .set_fieldnorms(false),
    );
    let fields = Fields {
        id: builder.add_text_field(names::ID, docs_only()),
        docid: builder.add_u64_field(names::DOCID, NumericOptions::default().set_fast()),
        source: builder.add_bytes_field(names::SOURCE, BytesOptions::default().set_stored()),
        text: builder.add_text_field(names::TEXT, positions),
        lengths: builder.add_text_field(names::LENGTHS, docs_only()),
        presence: builder.add_text_field(names::PRESENCE, docs_only()),
        columns: builder.add_json_field(names::COLUMNS, JsonObjectOptions::default().set_fast("raw")),
    };
    (builder.build(), fields)
}

/// Encodes an attribute for the end of a term: three bytes other than zero.
pub fn attribute_suffix(field: FieldId) -> [u8; SUFFIX_BYTES] {
    let bits = |shift: u32| 0x30 + ((u32::from(field) >> shift) & 0x3f) as u8;
    [bits(12), bits(6), bits(0)]
}

/// Decodes an [`attribute_suffix`].
pub fn parse_suffix(suffix: [u8; SUFFIX_BYTES]) -> Option<FieldId> {
    let bits = suffix.map(|byte| u32::from(byte.wrapping_sub(0x30)));
    if bits.iter().any(|&six| six > 0x3f) {
        return None;
    }
    FieldId::try_from(bits[0] << 12 | bits[1] << 6 | bits[2]).ok()
}

/// token ‖ 0 ‖ suffix
pub fn term(token: &str, field: FieldId) -> Vec<u8> {
    let mut term = Vec::with_capacity(token.len() + 1 + SUFFIX_BYTES);
    term.extend_from_slice(token.as_bytes());
    term.push(0);
    term.extend_from_slice(&attribute_suffix(field));
    term
}

/// Splits a term of `text` or `lengths` into word and attribute; `None` for any other term.
pub fn parse_term(term: &[u8]) -> Option<(&str, FieldId)> {
    let (rest, suffix) = term.split_last_chunk::<SUFFIX_BYTES>()?;
    let (&0, token) = rest.split_last()? else { return None };
    Some((std::str::from_utf8(token).ok()?, parse_suffix(*suffix)?))
}

/// Returns true if a word consists only of digits and ASCII punctuation.
pub fn is_numeric(word: &str) -> bool {
    word.chars().all(|c| c.is_numeric() || c.is_ascii_punctuation())
}

/// A property of a path in a document, recorded in `presence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// The path leads to a value, which may be null or a parent of nested keys.
    Exists,
    /// The value itself is null.
    Null,
    /// The value is `""`, `[]` or `{}`.
    Empty,
    /// A key of the document itself, whatever its value.
    TopLevel,
    /// The value of a reserved field is malformed. That is an error only when a setting uses the field; the term saves
    /// reading every document then.
    Malformed,
    /// A string at the path was too long to be written to a column with its document.
    Deferred,
}

/// kind ‖ 0 ‖ path
pub fn presence_term(kind: Presence, path: &str) -> String {
    format!("{}{path}", presence_prefix(kind))
}

/// kind ‖ 0
pub fn presence_prefix(kind: Presence) -> &'static str {
    match kind {
        Presence::Exists => "e\0",
        Presence::Null => "n\0",
        Presence::Empty => "m\0",
        Presence::TopLevel => "t\0",
        Presence::Malformed => "x\0",
        Presence::Deferred => "l\0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_id_is_decoded_from_its_suffix() {
        for field in 0..=FieldId::MAX {
            let written = term("tøken", field);
            assert_eq!(parse_term(&written), Some(("tøken", field)));
        }
    }

    #[test]
    fn a_malformed_term_is_not_parsed() {
        for foreign in [&b""[..], b"abc", b"token\0", b"token\0\xff\xff\xff", b"tokenx000"] {
            assert_eq!(parse_term(foreign), None);
        }
    }
}
