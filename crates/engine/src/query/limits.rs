//! Limits on the cost of reading a query. Source of the values: search §4, §5.

use crate::postings::PinyinLimits;

/// Bytes of a query that are read, enough for [`TOKENS_MAX`] tokens even with words of 60 letters. Analysing more text
/// would be wasted work. The fallback and the HTTP layer use the same value.
pub const QUERY_BYTES_MAX: usize = 65_536;

/// Tokens of a query that are read.
pub(crate) const TOKENS_MAX: usize = 1000;

/// Terms of a query. A phrase is one term; excluded words do not count.
pub(crate) const TERMS_MAX: usize = 10;

/// The same with the matching strategy `any`, which reads questions and paragraphs.
pub(crate) const ANY_TERMS_MAX: usize = 32;

/// Longest word that can match, in bytes.
pub(crate) const WORD_BYTES_MAX: usize = crate::store::schema::WORD_BYTES_MAX;

/// Derivations at one edit from a term.
pub(crate) const ONE_TYPO_MAX: usize = 150;

/// Derivations at two edits from a term.
pub(crate) const TWO_TYPOS_MAX: usize = 50;

/// Other forms of a word, and of the words at one edit from it.
pub(crate) const FORMS_MAX: usize = 50;

/// Compounds with a word. [`COMPOUND_CANDIDATES_MAX`] limits the words examined on each side of it.
pub(crate) const COMPOUNDS_MAX: usize = 50;
/// See [`COMPOUNDS_MAX`].
pub(crate) const COMPOUND_CANDIDATES_MAX: usize = 500;

/// Chinese words that are read as a query word.
pub(crate) const PINYIN: PinyinLimits =
    PinyinLimits { words_max: 200, candidates_max: 2000, first_halves_max: 50, pairs_max: 200 };

/// Completions of an unfinished word, unless it is a short, common prefix.
pub(crate) const PREFIX_WORDS_MAX: usize = 1000;

/// Completions of the second half of a word that is split in two.
pub(crate) const SPLIT_COMPLETIONS_MAX: usize = 100;

/// Completions with at least this many postings in total are read together, once for all queries.
pub(crate) const FREQUENT_COMPLETIONS_MIN: u64 = 2048;

/// Maximum bytes of a short, common prefix.
pub(crate) const SHORT_PREFIX_BYTES_MAX: usize = 4;

/// A short prefix of at least this many distinct words is common.
pub(crate) const SHORT_PREFIX_WORDS_MIN: usize = 100;

/// Synonyms of a term. [`SYNONYM_WORDS_MAX`] limits the words of all its synonyms.
pub(crate) const SYNONYMS_MAX: usize = 50;
/// See [`SYNONYMS_MAX`].
pub(crate) const SYNONYM_WORDS_MAX: usize = 100;

/// Words joined into one.
pub(crate) const NGRAM_WORDS_MAX: usize = 3;

/// The same with the matching strategy `any`.
pub(crate) const ANY_NGRAM_WORDS_MAX: usize = 2;

/// Occurrences of a kind are cached only if its words are in at most this many documents in total.
pub(crate) const KIND_OCCURRENCES_FREQUENCY_MAX: u64 = 4096;

/// Occurrences are cached once they were read for this share (1/8) of those documents. An estimate.
pub(crate) const KIND_OCCURRENCES_SHARE: u64 = 8;

/// Derivations of a term that an explanation lists. [`PLACES_MAX`] limits the positions of each in a document.
pub(crate) const SPELLINGS_MAX: usize = 50;
/// See [`SPELLINGS_MAX`].
pub(crate) const PLACES_MAX: usize = 20;
