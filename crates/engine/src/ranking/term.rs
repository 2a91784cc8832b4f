//! Here is a word of a query: what in the index may stand for it, and at what price?
//!
//! | class | what | typos |
//! |---|---|---|
//! | `EXACT` | the word itself, or the quoted phrase | 0 |
//! | `COMPLETIONS` | words that begin with it, if it is unfinished | 0 |
//! | `SYNONYMS` | phrases the settings put in its place | 0 |
//! | `ONE_TYPO` | words one edit away | 1 |
//! | `SPLIT` | the word cut in two | 1 |
//! | `TWO_TYPOS` | words two edits away | 2 |
//!
//! Source: search-semantics §5.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use roaring::RoaringBitmap;

use super::limits::{
    CLASS_PLACES_FREQUENCY_MAX, CLASS_PLACES_SHARE, COMPLETIONS_MAX, FREQUENT_COMPLETIONS_MIN,
    KNOWN_BYTES_MAX, ONE_TYPO_MAX, SHORT_PREFIX_BYTES_MAX, SHORT_PREFIX_WORDS_MIN, SYNONYM_WORDS_MAX,
    SYNONYMS_MAX, TWO_TYPOS_MAX, WORD_BYTES_MAX,
};
use super::query::Slots;
use crate::analysis::{Analyzer, TokenKind};
use crate::error::Result;
use crate::generations::Generations;
use crate::postings::{FieldDocs, Misspellings, Occurrences, Postings, Reading, Word};
use crate::settings::{PrefixSearch, Settings};

/// A set of classes of derivations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Classes(u8);

impl Classes {
    pub(super) const EXACT: Self = Self(1);
    pub(super) const COMPLETIONS: Self = Self(2);
    pub(super) const SYNONYMS: Self = Self(4);
    pub(super) const ONE_TYPO: Self = Self(8);
    pub(super) const SPLIT: Self = Self(16);
    pub(super) const TWO_TYPOS: Self = Self(32);
    pub(super) const ALL: Self = Self(63);
    pub(super) const NONE: Self = Self(0);

    /// What costs exactly so many typos.
    pub(super) const LEVELS: [Self; 3] = [Self(7), Self(24), Self(32)];

    /// Each class alone.
    pub(super) const EACH: [Self; 6] =
        [Self::EXACT, Self::COMPLETIONS, Self::SYNONYMS, Self::ONE_TYPO, Self::SPLIT, Self::TWO_TYPOS];

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The classes of the set, one by one.
    pub(super) fn each(self) -> impl Iterator<Item = Self> {
        Self::EACH.into_iter().filter(move |&class| self.meets(class))
    }
}

/// A word, a phrase, or neighbouring words joined, with all that may stand for it.
pub(super) struct Term {
    /// The word, joined for an n-gram; empty for a phrase.
    pub(super) text: String,
    /// Typos that may be forgiven.
    pub(super) budget: u8,
    /// Its words, if it is an n-gram.
    pub(super) parts: Option<Vec<String>>,
    /// It was a quoted phrase.
    pub(super) phrase: Option<Slots>,
    /// It ends the query and may go on.
    pub(super) unfinished: bool,
    pub(super) synonyms: Vec<Slots>,
    /// The two words it is best cut into.
    split: Option<Slots>,
    derived: Arc<Derived>,
}

/// What in the index may stand for a word, whatever stands beside it in the query.
#[derive(Default)]
struct Derived {
    exact: Option<Word>,
    completions: Completions,
    misspellings: Misspellings,
}

/// All that it depends on, in one commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Asked {
    text: Box<str>,
    budget: u8,
    unfinished: bool,
}

/// Words an unfinished word may become.
enum Completions {
    /// All there are, up to the bound.
    Listed(Vec<Word>),
    /// The same, none left out; they are frequent, so that their documents, those of the word itself
    /// included, are better read together.
    Frequent(Vec<Word>, Arc<FieldDocs>),
    /// The beginning is short and common: the documents of all words with it, itself included.
    Common(Arc<FieldDocs>),
}

impl Default for Completions {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Derived {
    /// About how much memory this takes, beside what `postings` keeps of it.
    fn bytes(&self) -> usize {
        let completions = match &self.completions {
            Completions::Listed(words) | Completions::Frequent(words, _) => words.as_slice(),
            Completions::Common(_) => &[],
        };
        let words: usize = completions.iter().chain(&self.exact).map(Word::bytes).sum();
        size_of::<Self>() + words + self.misspellings.bytes()
    }
}

impl Term {
    /// The word itself, if the index has it.
    pub(super) fn exact(&self) -> Option<&Word> {
        self.derived.exact.as_ref()
    }

    /// The words of a class, unless they are too many to list; phrases are not among them.
    pub(super) fn words(&self, class: Classes) -> &[Word] {
        match class {
            Classes::EXACT => self.derived.exact.as_slice(),
            Classes::COMPLETIONS => match &self.derived.completions {
                Completions::Listed(words) | Completions::Frequent(words, _) => words,
                Completions::Common(_) => &[],
            },
            Classes::ONE_TYPO => &self.derived.misspellings.one_typo,
            Classes::TWO_TYPOS => &self.derived.misspellings.two_typos,
            _ => &[],
        }
    }

    /// Whether any word is of a class.
    pub(super) fn has_words(&self, class: Classes) -> bool {
        !self.words(class).is_empty() || (class == Classes::COMPLETIONS && self.completes_by_prefix())
    }

    /// The phrases of a class.
    pub(super) fn phrases(&self, class: Classes) -> &[Slots] {
        match class {
            Classes::EXACT => self.phrase.as_slice(),
            Classes::SYNONYMS => &self.synonyms,
            Classes::SPLIT => self.split.as_slice(),
            _ => &[],
        }
    }

    /// Whether it was found in the index as it is written: what exactness asks for.
    pub(super) fn has_exact_form(&self) -> bool {
        self.parts.is_none() && (self.phrase.is_some() || self.exact().is_some())
    }

    /// The documents of the word and all its completions, if they are read together.
    pub(super) fn prefix_docs(&self) -> Option<&Arc<FieldDocs>> {
        match &self.derived.completions {
            Completions::Listed(_) => None,
            Completions::Frequent(_, docs) | Completions::Common(docs) => Some(docs),
        }
    }

    /// Whether completions are known only as documents, not one by one in reverse order.
    pub(super) fn completes_by_prefix(&self) -> bool {
        matches!(self.derived.completions, Completions::Common(_))
    }
}

/// Finds what may stand for words, under the settings of an index.
pub(super) struct Derivations<'a> {
    postings: &'a Postings,
    settings: &'a Settings,
    /// Words of a key → its phrases.
    synonyms: HashMap<Vec<String>, Vec<Vec<String>>>,
}

impl<'a> Derivations<'a> {
    pub(super) fn new(postings: &'a Postings, analyzer: &Analyzer) -> Self {
        let settings = postings.snapshot().settings();
        Self { postings, settings, synonyms: synonyms(settings, analyzer) }
    }

    /// A quoted phrase stands for itself alone.
    pub(super) fn of_phrase(&self, slots: Slots) -> Term {
        Term { phrase: Some(slots), ..Term::empty(String::new()) }
    }

    /// What may stand for one word of the query.
    pub(super) fn of_word(&self, word: &str, unfinished: bool) -> Result<Term> {
        let mut term = self.derive(word, self.budget(word), unfinished)?;
        if term.text.len() <= WORD_BYTES_MAX {
            term.split = self.split(word, None)?;
            term.synonyms = self.synonyms_of(&[word.to_owned()]);
        }
        Ok(term)
    }

    /// What may stand for neighbouring words written as one. None if that would be too long.
    pub(super) fn of_joined(&self, parts: Vec<String>, unfinished: bool) -> Result<Option<Term>> {
        let text = parts.concat();
        if text.len() > WORD_BYTES_MAX {
            return Ok(None);
        }
        // Each join is itself a misspelling, so it uses up one typo.
        let joins = u8::try_from(parts.len() - 1).unwrap_or(u8::MAX);
        let budget = self.budget(&text).saturating_sub(joins);
        let mut term = self.derive(&text, budget, unfinished)?;
        // Cut as it is written it would stand for its own words.
        term.split = self.split(&text, (parts.len() == 2).then(|| parts[0].len()))?;
        term.synonyms = self.synonyms_of(&[text]);
        term.synonyms.extend(self.synonyms_of(&parts));
        term.parts = Some(parts);
        Ok(Some(term))
    }

    /// How many typos a word may have.
    fn budget(&self, word: &str) -> u8 {
        let typo = &self.settings.typo_tolerance;
        let sizes = typo.min_word_size_for_typos;
        // Settings keep protected words in lower case, as analysis leaves most of them.
        let protected = typo.disable_on_words.iter().any(|listed| listed.to_lowercase() == word);
        match word.chars().count() {
            _ if !typo.enabled || protected => 0,
            size if size < usize::from(sizes.one_typo) => 0,
            size if size < usize::from(sizes.two_typos) => 1,
            _ => 2,
        }
    }

    fn derive(&self, text: &str, budget: u8, unfinished: bool) -> Result<Term> {
        let unfinished = unfinished && self.settings.prefix_search == PrefixSearch::IndexingTime;
        let mut term = Term { unfinished, budget, ..Term::empty(text.to_owned()) };
        if text.len() > WORD_BYTES_MAX {
            return Ok(Term { unfinished: false, budget: 0, ..term });
        }
        let known: Arc<Known> = self.postings.snapshot().attachments().get();
        let of = term.asked();
        term.derived = match known.derived.get(&of) {
            Some(derived) => derived,
            None => {
                let derived = Arc::new(self.look_up(&of)?);
                known.keep(self.postings, &known.derived, of, &derived, derived.bytes());
                derived
            }
        };
        Ok(term)
    }

    fn split(&self, text: &str, but: Option<usize>) -> Result<Option<Slots>> {
        let halves = self.postings.best_split(text, but)?;
        Ok(halves.map(|(left, right)| vec![Some(left), Some(right)]))
    }

    fn look_up(&self, Asked { text, budget, unfinished }: &Asked) -> Result<Derived> {
        Ok(Derived {
            exact: self.postings.word(text)?,
            completions: if *unfinished { self.completions(text)? } else { Completions::default() },
            misspellings: match budget {
                0 => Misspellings::default(),
                typos => {
                    self.postings.misspellings(text, *typos, *unfinished, ONE_TYPO_MAX, TWO_TYPOS_MAX)?
                }
            },
        })
    }

    fn completions(&self, text: &str) -> Result<Completions> {
        if text.len() <= SHORT_PREFIX_BYTES_MAX
            && self.postings.is_common_prefix(text, SHORT_PREFIX_WORDS_MIN)?
        {
            return Ok(Completions::Common(self.postings.prefix_docs(text)?));
        }
        let mut words = Vec::new();
        self.postings.starting_with(text, |word| {
            if *word.text != *text {
                words.push(word);
            }
            let full = words.len() == COMPLETIONS_MAX;
            Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let frequency: u64 = words.iter().map(Word::frequency_bound).sum();
        if words.len() < COMPLETIONS_MAX && frequency >= FREQUENT_COMPLETIONS_MIN {
            return Ok(Completions::Frequent(words, self.postings.prefix_docs(text)?));
        }
        Ok(Completions::Listed(words))
    }

    /// At most [`SYNONYMS_MAX`] phrases of [`SYNONYM_WORDS_MAX`] words together; one that no longer fits is
    /// passed over.
    fn synonyms_of(&self, key: &[String]) -> Vec<Slots> {
        let mut words = 0;
        let alternatives = self.synonyms.get(key).into_iter().flatten().take(SYNONYMS_MAX);
        let fitting = alternatives.filter(|alternative| {
            let fits = words + alternative.len() <= SYNONYM_WORDS_MAX;
            words += if fits { alternative.len() } else { 0 };
            fits
        });
        fitting.map(|alternative| alternative.iter().cloned().map(Some).collect()).collect()
    }
}

impl Term {
    /// What it was derived from.
    fn asked(&self) -> Asked {
        Asked { text: self.text.as_str().into(), budget: self.budget, unfinished: self.unfinished }
    }

    /// Documents of the words of a class, field by field, over the whole index.
    pub(super) fn docs(&self, class: Classes, postings: &Postings) -> Result<Arc<FieldDocs>> {
        match (self.prefix_docs(), self.words(class)) {
            (Some(docs), _) if class == Classes::COMPLETIONS => Ok(Arc::clone(docs)),
            (_, [word]) => postings.word_docs(word),
            (_, words) => {
                let known: Arc<Known> = postings.snapshot().attachments().get();
                let key = (self.asked(), class);
                if let Some(docs) = known.docs.get(&key) {
                    return Ok(docs);
                }
                let docs = Arc::new(postings.docs(words.iter())?);
                known.keep(postings, &known.docs, key, &docs, docs.bytes());
                Ok(docs)
            }
        }
    }

    /// All places of the several words of a class; None if they are in many documents, or while looking into those of
    /// `universe` is as quick.
    pub(super) fn places(
        &self,
        class: Classes,
        postings: &Postings,
        universe: &RoaringBitmap,
    ) -> Result<Option<Arc<Occurrences>>> {
        let words = self.words(class);
        let frequency: u64 = words.iter().map(Word::frequency_bound).sum();
        if words.len() < 2 || frequency > CLASS_PLACES_FREQUENCY_MAX {
            return Ok(None);
        }
        let known: Arc<Known> = postings.snapshot().attachments().get();
        let key = (self.asked(), class);
        if let Some(places) = known.places.get(&key) {
            return Ok(Some(places));
        }
        if known.places_read.count(&key, universe.len()) * CLASS_PLACES_SHARE < frequency {
            return Ok(None);
        }
        let places = Arc::new(postings.occurrences(words.iter(), postings.snapshot().documents())?);
        known.keep(postings, &known.places, key, &places, places.bytes());
        Ok(Some(places))
    }

    /// Whether a class matches only where a typo is forgiven: all but what was written, or begins like it.
    pub(super) fn is_forgiven(&self, class: Classes) -> bool {
        !Classes::LEVELS[0].meets(class) || self.parts.is_some()
    }

    /// Documents that match by a word of some classes in any searchable attribute.
    pub(super) fn matching(&self, classes: Classes, postings: &Postings) -> Result<Arc<RoaringBitmap>> {
        let known: Arc<Known> = postings.snapshot().attachments().get();
        let key = (self.asked(), classes, self.parts.is_some());
        if let Some(docs) = known.matching.get(&key) {
            return Ok(docs);
        }
        let mut docs = RoaringBitmap::new();
        for class in classes.each().filter(|class| self.has_words(*class)) {
            let reading = Reading { forgiving: self.is_forgiven(class), within: None };
            docs |= self.docs(class, postings)?.matching(reading, postings.searchable());
        }
        let docs = Arc::new(docs);
        known.keep(postings, &known.matching, key, &docs, docs.serialized_size());
        Ok(docs)
    }

    fn empty(text: String) -> Self {
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

/// What earlier searches over a commit had derived: words come again in other queries, above all while one is typed.
#[derive(Default)]
struct Known {
    derived: Generations<Asked, Derived>,
    /// Documents of the words of a class.
    docs: Generations<(Asked, Classes), FieldDocs>,
    /// Places of the words of a class.
    places: Generations<(Asked, Classes), Occurrences>,
    /// For how many documents those were read until now.
    places_read: Generations<(Asked, Classes), AtomicU64>,
    /// Documents that match by a word of some classes, of a term that was joined or not.
    matching: Generations<(Asked, Classes, bool), RoaringBitmap>,
    /// Documents of phrases in searchable attributes.
    phrases: Generations<Slots, RoaringBitmap>,
}

/// Documents that hold a phrase in any searchable attribute.
pub(super) fn phrase_docs(postings: &Postings, phrase: &Slots) -> Result<Arc<RoaringBitmap>> {
    let known: Arc<Known> = postings.snapshot().attachments().get();
    if let Some(docs) = known.phrases.get(phrase) {
        return Ok(docs);
    }
    let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
    let docs = Arc::new(postings.phrase_docs(&slots, Reading::default(), postings.snapshot().documents())?);
    let text: usize = slots.iter().flatten().map(|word| word.len() + size_of::<String>()).sum();
    known.keep(postings, &known.phrases, phrase.clone(), &docs, docs.serialized_size() + text);
    Ok(docs)
}

impl Known {
    /// Keeps what was worked out, unless it was cut short.
    fn keep<K: Hash + Eq, V>(
        &self,
        postings: &Postings,
        kept: &Generations<K, V>,
        key: K,
        value: &Arc<V>,
        bytes: usize,
    ) {
        if !postings.budget().is_overdrawn() {
            kept.insert(key, Arc::clone(value), bytes, KNOWN_BYTES_MAX);
        }
    }
}

/// Keys and alternatives as lists of analysed words; keys that read the same are one.
fn synonyms(settings: &Settings, analyzer: &Analyzer) -> HashMap<Vec<String>, Vec<Vec<String>>> {
    let words = |text: &str| -> Vec<String> {
        let tokens = analyzer.tokens(text, None).into_iter();
        let words = tokens.filter(|token| token.kind == TokenKind::Word && !token.text.is_empty());
        words.map(|token| token.text.into_owned()).collect()
    };
    let mut read: HashMap<Vec<String>, Vec<Vec<String>>> = HashMap::new();
    for (key, alternatives) in &settings.synonyms {
        let known = read.entry(words(key)).or_default();
        for alternative in alternatives.iter().map(|alternative| words(alternative)) {
            if !alternative.is_empty() && !known.contains(&alternative) {
                known.push(alternative);
            }
        }
    }
    read
}
