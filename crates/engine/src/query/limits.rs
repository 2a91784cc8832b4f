//! Bounds of what reading one query may cost. Source of the figures: search §4, §5.

/// Bytes of a query that are looked at. Words of 60 letters each fit among the tokens that count; a longer text would
/// be cut and normalised for nothing. The fallback and the HTTP edge have the same figure.
pub const QUERY_BYTES_MAX: usize = 65_536;

/// Tokens of a query that are looked at.
pub(crate) const TOKENS_MAX: usize = 1000;

/// Terms of a query; a phrase is one, negative ones do not count.
pub(crate) const TERMS_MAX: usize = 10;

/// Longest word that can match, in bytes.
pub(crate) const WORD_BYTES_MAX: usize = crate::store::schema::WORD_BYTES_MAX;

/// Words one edit away from a term.
pub(crate) const ONE_TYPO_MAX: usize = 150;

/// Words two edits away from a term.
pub(crate) const TWO_TYPOS_MAX: usize = 50;

/// Completions of an unfinished word, unless it is short and common.
pub(crate) const PREFIX_WORDS_MAX: usize = 1000;

/// Postings of completions from which they are read together, once for all queries.
pub(crate) const FREQUENT_COMPLETIONS_MIN: u64 = 2048;

/// Bytes up to which a beginning can count as short and common.
pub(crate) const SHORT_PREFIX_BYTES_MAX: usize = 4;

/// Distinct words from which a short beginning is common.
pub(crate) const SHORT_PREFIX_WORDS_MIN: usize = 100;

/// Synonyms of one term, and words in all of them.
pub(crate) const SYNONYMS_MAX: usize = 50;
/// See [`SYNONYMS_MAX`].
pub(crate) const SYNONYM_WORDS_MAX: usize = 100;

/// Words joined into one when a query is read.
pub(crate) const NGRAM_WORDS_MAX: usize = 3;

/// Occurrences of the words of a kind are cached if the words are in no more documents, all together.
pub(crate) const KIND_OCCURRENCES_FREQUENCY_MAX: u64 = 4096;

/// They are cached once they were asked for in one of so many of those documents. A guess.
pub(crate) const KIND_OCCURRENCES_SHARE: u64 = 8;

/// What may stand for a term, as far as an explanation lists it, and the places of each in a document.
pub(crate) const SPELLINGS_MAX: usize = 50;
/// See [`SPELLINGS_MAX`].
pub(crate) const PLACES_MAX: usize = 20;
