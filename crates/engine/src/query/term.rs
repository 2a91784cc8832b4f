//! A term of a query with its derivations, and their costs.
//!
//! | kind | derivations | typos |
//! |---|---|---|
//! | `EXACT` | the word itself, or the quoted phrase | 0 |
//! | `PREFIX` | words with this prefix, if the term is unfinished | 0 |
//! | `SYNONYMS` | phrases from the settings | 0 |
//! | `FORMS` | words with the same stem, compounds with the word, and Chinese words that are read as it, if the settings ask for them | 1 |
//! | `ONE_TYPO` | words one edit away | 1 |
//! | `SPLIT` | the word split in two | 1 |
//! | `TWO_TYPOS` | words two edits away, and other forms of words one edit away | 2 |
//!
//! Source: search §5.

use std::sync::Arc;

use equivalent::Equivalent;

use super::parse::Slots;
use crate::postings::{FieldDocs, Misspellings, Word};

/// A set of kinds of derivations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DerivationKinds(u8);

impl DerivationKinds {
    pub(crate) const EXACT: Self = Self(1);
    pub(crate) const PREFIX: Self = Self(2);
    pub(crate) const SYNONYMS: Self = Self(4);
    pub(crate) const ONE_TYPO: Self = Self(8);
    pub(crate) const SPLIT: Self = Self(16);
    pub(crate) const TWO_TYPOS: Self = Self(32);
    pub(crate) const FORMS: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);
    pub(crate) const NONE: Self = Self(0);

    /// The kinds by their cost in typos: 0, 1 and 2.
    pub(crate) const BY_TYPOS: [Self; 3] = [Self(7), Self(88), Self(32)];

    /// Each single kind.
    pub(crate) const EACH: [Self; 7] = [
        Self::EXACT,
        Self::PREFIX,
        Self::SYNONYMS,
        Self::FORMS,
        Self::ONE_TYPO,
        Self::SPLIT,
        Self::TWO_TYPOS,
    ];

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Iterates over the kinds of the set.
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        Self::EACH.into_iter().filter(move |&kind| self.meets(kind))
    }
}

/// A word, a phrase, or neighbouring words joined, with its derivations.
pub(crate) struct Term {
    /// The word, joined for an n-gram; empty for a phrase.
    pub(crate) text: String,
    /// Largest number of typos allowed.
    pub(crate) budget: u8,
    /// Its words, if it is an n-gram.
    pub(crate) parts: Option<Vec<String>>,
    /// Its words, if it is a quoted phrase.
    pub(crate) phrase: Option<Slots>,
    /// True if it ends the query and may be incomplete.
    pub(crate) unfinished: bool,
    pub(crate) synonyms: Vec<Slots>,
    /// The best split into two words.
    pub(crate) split: Option<Slots>,
    pub(super) derived: Arc<Derived>,
}

/// Why a word is another form of a query word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FormKind {
    Stem,
    Compound,
    Pinyin,
}

impl FormKind {
    /// Name in explanations.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stem => "stem",
            Self::Compound => "compound",
            Self::Pinyin => "pinyin",
        }
    }
}

/// Words of the index that may stand for a word, independent of the rest of the query.
#[derive(Default)]
pub(super) struct Derived {
    pub(super) exact: Option<Word>,
    pub(super) completions: Completions,
    pub(super) forms: Vec<Word>,
    /// Number of compounds, which are forms after those with the same stem.
    pub(super) compounds: usize,
    /// Number of words with this pinyin, which are the last forms.
    pub(super) pinyin: usize,
    /// Neighbouring words that are read as its halves.
    pub(super) halves: Option<(String, String)>,
    pub(super) misspellings: Misspellings,
}

/// The input of [`Derived`] within a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DerivationKey<T> {
    pub(crate) text: T,
    pub(super) budget: u8,
    pub(super) unfinished: bool,
}

impl DerivationKey<&str> {
    /// The same key with an owned text.
    pub(crate) fn to_owned(self) -> DerivationKey<Box<str>> {
        DerivationKey { text: self.text.into(), budget: self.budget, unfinished: self.unfinished }
    }
}

impl Equivalent<DerivationKey<Box<str>>> for DerivationKey<&str> {
    fn equivalent(&self, key: &DerivationKey<Box<str>>) -> bool {
        (self.text, self.budget, self.unfinished) == (&*key.text, key.budget, key.unfinished)
    }
}

/// Words that an unfinished word may become.
pub(super) enum Completions {
    /// All of them, up to the limit.
    Listed(Vec<Word>),
    /// All of them. They are frequent, so their documents, including those of the word itself, are read together.
    Frequent(Vec<Word>, Arc<FieldDocs>),
    /// A short, common prefix: the documents of all words with it, including itself.
    Common(Arc<FieldDocs>),
}

impl Default for Completions {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Derived {
    /// Its size in bytes, approximately. Includes the documents of completions, which live as long as this.
    pub(super) fn bytes(&self) -> usize {
        let (completions, docs) = match &self.completions {
            Completions::Listed(words) => (words.as_slice(), 0),
            Completions::Frequent(words, docs) => (words.as_slice(), docs.bytes()),
            Completions::Common(docs) => (&[][..], docs.bytes()),
        };
        let words: usize = completions.iter().chain(&self.exact).chain(&self.forms).map(Word::bytes).sum();
        let halves = self.halves.as_ref().map_or(0, |(left, right)| left.len() + right.len());
        words + docs + halves + self.misspellings.bytes()
    }
}

impl Term {
    /// Returns the word itself, if the index contains it.
    pub(crate) fn exact(&self) -> Option<&Word> {
        self.derived.exact.as_ref()
    }

    /// Returns the words of a kind, unless they are too many to list. Phrases are not included.
    pub(crate) fn words(&self, kind: DerivationKinds) -> &[Word] {
        match kind {
            DerivationKinds::EXACT => self.derived.exact.as_slice(),
            DerivationKinds::PREFIX => match &self.derived.completions {
                Completions::Listed(words) | Completions::Frequent(words, _) => words,
                Completions::Common(_) => &[],
            },
            DerivationKinds::FORMS => &self.derived.forms,
            DerivationKinds::ONE_TYPO => &self.derived.misspellings.one_typo,
            DerivationKinds::TWO_TYPOS => &self.derived.misspellings.two_typos,
            _ => &[],
        }
    }

    /// Returns why a form is one.
    pub(crate) fn form_kind(&self, form: &str) -> FormKind {
        let Derived { forms, compounds, pinyin, .. } = &*self.derived;
        let (others, read) = forms.split_at(forms.len() - pinyin);
        let (_, compounds) = others.split_at(others.len() - compounds);
        let is_among = |words: &[Word]| words.iter().any(|word| *word.text == *form);
        if is_among(read) {
            FormKind::Pinyin
        } else if is_among(compounds) {
            FormKind::Compound
        } else {
            FormKind::Stem
        }
    }

    /// Returns true if a word is of this kind.
    pub(crate) fn has_words(&self, kind: DerivationKinds) -> bool {
        !self.words(kind).is_empty() || (kind == DerivationKinds::PREFIX && self.completes_by_prefix())
    }

    /// Returns the phrases of a kind.
    pub(crate) fn phrases(&self, kind: DerivationKinds) -> &[Slots] {
        match kind {
            DerivationKinds::EXACT => self.phrase.as_slice(),
            DerivationKinds::SYNONYMS => &self.synonyms,
            DerivationKinds::SPLIT => self.split.as_slice(),
            _ => &[],
        }
    }

    /// Returns true if the index contains it exactly as written, as exactness requires.
    pub(crate) fn has_exact_form(&self) -> bool {
        self.parts.is_none() && (self.phrase.is_some() || self.exact().is_some())
    }

    /// Returns the documents of the word and all its completions, if they are read together.
    pub(crate) fn prefix_docs(&self) -> Option<&Arc<FieldDocs>> {
        match &self.derived.completions {
            Completions::Listed(_) => None,
            Completions::Frequent(_, docs) | Completions::Common(docs) => Some(docs),
        }
    }

    /// Returns true if only the documents of the completions are known, not the words.
    pub(crate) fn completes_by_prefix(&self) -> bool {
        matches!(self.derived.completions, Completions::Common(_))
    }
}

impl Term {
    /// Returns the input of its derivations within a commit.
    pub(crate) fn key(&self) -> DerivationKey<&str> {
        DerivationKey { text: &self.text, budget: self.budget, unfinished: self.unfinished }
    }

    /// Returns true if a kind matches only where typos are allowed: typos, splits, and all kinds of joined words.
    pub(crate) fn is_forgiven(&self, kind: DerivationKinds) -> bool {
        !DerivationKinds::BY_TYPOS[0].or(DerivationKinds::FORMS).meets(kind) || self.parts.is_some()
    }

    /// Returns a term without derivations.
    pub(super) fn empty(text: String) -> Self {
        Self {
            text,
            budget: 0,
            parts: None,
            phrase: None,
            unfinished: false,
            synonyms: Vec::new(),
            split: None,
            derived: Arc::default(),
        }
    }
}
