//! Bounds of what one query may cost. Source of the figures: search-semantics §4, §5.

/// Tokens of a query that are looked at.
pub(super) const TOKENS_MAX: usize = 1000;

/// Terms of a query; a phrase is one, negative ones do not count.
pub(super) const TERMS_MAX: usize = 10;

/// Longest word that can match, in bytes.
pub(super) const WORD_BYTES_MAX: usize = crate::store::schema::WORD_BYTES_MAX;

/// Words one edit away from a term.
pub(super) const ONE_TYPO_MAX: usize = 150;

/// Words two edits away from a term.
pub(super) const TWO_TYPOS_MAX: usize = 50;

/// Completions of an unfinished word, unless it is short and common.
pub(super) const COMPLETIONS_MAX: usize = 1000;

/// Postings of completions from which they are read together, once for all queries.
pub(super) const FREQUENT_COMPLETIONS_MIN: u64 = 2048;

/// Bytes up to which a beginning can count as short and common.
pub(super) const SHORT_PREFIX_BYTES_MAX: usize = 4;

/// Distinct words from which a short beginning is common.
pub(super) const SHORT_PREFIX_WORDS_MIN: usize = 100;

/// Synonyms of one term, and words in all of them.
pub(super) const SYNONYMS_MAX: usize = 50;
/// See [`SYNONYMS_MAX`].
pub(super) const SYNONYM_WORDS_MAX: usize = 100;

/// Words joined into one when a query is read.
pub(super) const NGRAM_WORDS_MAX: usize = 3;

/// Documents whose costs are laid out at once.
pub(super) const ROWS_MAX: usize = 1 << 15;

/// Cells (documents × edges) laid out at once.
pub(super) const CELLS_MAX: usize = 1 << 21;

/// Fewer documents are put in all their buckets at once. Measured: 150 and 1,024 take 1 and 5 % more instructions.
pub(super) const LAZY_DOCUMENTS_MIN: u64 = 400;

/// Rows that are looked up in a set one by one: beyond, sets are intersected.
pub(super) const LOOK_UPS_MAX: usize = 64;

/// Classes of documents from which rows are quicker than sets.
pub(super) const CLASSES_MAX: usize = 128;

/// Bytes of one generation of what is kept of words, and of their documents; there are at most two of each.
pub(super) const KNOWN_BYTES_MAX: usize = 8 << 20;

/// Places of the words of a class are kept if they are in no more documents, all together.
pub(super) const CLASS_PLACES_FREQUENCY_MAX: u64 = 4096;

/// ... and are worked out for at least one in so many of those. A guess.
pub(super) const CLASS_PLACES_SHARE: u64 = 8;
