//! Finds the derivations of a query word: the words of the index that may stand for it.

use std::iter;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::limits::{
    COMPOUND_CANDIDATES_MAX, COMPOUNDS_MAX, FORMS_MAX, FREQUENT_COMPLETIONS_MIN, ONE_TYPO_MAX,
    PREFIX_WORDS_MAX, SHORT_PREFIX_BYTES_MAX, SHORT_PREFIX_WORDS_MIN, SPLIT_COMPLETIONS_MAX, WORD_BYTES_MAX,
};
use super::parse::Slots;
use super::synonyms::Synonyms;
use super::term::{Completions, DerivationKey, Derived, Term};
use super::typos::{misspellings, typo_budget};
use super::{cache, limits};
use crate::analysis::{Analyzer, Compounds, Pinyin, Stemmer, needs_dictionary, typed_on};
use crate::error::Result;
use crate::postings::{Misspellings, Postings, Word};
use crate::settings::{PrefixSearch, Settings};

/// Finds derivations under the settings of an index.
pub(crate) struct Derivations<'a> {
    postings: &'a Postings,
    settings: &'a Settings,
    synonyms: Arc<Synonyms>,
    stemmers: Vec<Stemmer>,
    compounds: Option<Compounds>,
    /// True if dictionaries cut the texts of the index.
    has_dictionaries: bool,
}

/// Neighbouring words of a query, read as one.
pub(crate) struct Joined {
    pub(crate) parts: Vec<String>,
    /// True if the last one ends the query.
    pub(crate) unfinished: bool,
    /// True if nothing separates them.
    pub(crate) is_attached: bool,
}

impl<'a> Derivations<'a> {
    pub(crate) fn new(postings: &'a Postings, analyzer: &Analyzer) -> Self {
        let snapshot = postings.snapshot();
        let settings = snapshot.settings();
        let stemmers = settings.stemming.iter().filter_map(|code| Stemmer::of_code(code)).collect();
        let compounds = Compounds::of_codes(&settings.compounds);
        let synonyms = Synonyms::of_snapshot(snapshot, analyzer);
        let has_dictionaries = !snapshot.parts().dictionaries.is_empty();
        Self { postings, settings, synonyms, stemmers, compounds, has_dictionaries }
    }

    /// Returns the term of a quoted phrase. It stands only for itself.
    pub(crate) fn of_phrase(&self, slots: Slots) -> Term {
        Term { phrase: Some(slots), ..Term::empty(String::new()) }
    }

    /// Returns the derivations of a query word.
    pub(crate) fn of_word(&self, word: &str, unfinished: bool) -> Result<Term> {
        let mut term = self.derive(word, typo_budget(&self.settings.typo_tolerance, word), unfinished)?;
        if term.text.len() <= WORD_BYTES_MAX {
            term.split = self.split(word, None)?;
            self.complete_split(&mut term, None)?;
            if term.split.is_none() {
                term.split = term.derived.halves.clone().map(slots);
            }
            term.synonyms = self.synonyms.of(&[word.to_owned()]);
        }
        Ok(term)
    }

    /// Returns the derivations of neighbouring words joined into one; with `as_written`, only that word and its
    /// synonyms. None if it is too long.
    pub(crate) fn of_joined(
        &self,
        Joined { parts, unfinished, is_attached }: Joined,
        as_written: bool,
    ) -> Result<Option<Term>> {
        let text = parts.concat();
        if text.len() > WORD_BYTES_MAX {
            return Ok(None);
        }
        // Each join counts as a typo and uses up one of the budget.
        let joins = u8::try_from(parts.len() - 1).unwrap_or(u8::MAX);
        let budget = match as_written {
            true => 0,
            false => typo_budget(&self.settings.typo_tolerance, &text).saturating_sub(joins),
        };
        let mut term = self.derive(&text, budget, unfinished && !as_written)?;
        if !as_written {
            // A split between the original two words would only repeat the query.
            let original = (parts.len() == 2).then(|| parts[0].len());
            term.split = self.split(&text, original)?;
            if is_attached {
                self.complete_split(&mut term, original)?;
            }
        }
        term.synonyms = self.synonyms.of(&[text]);
        term.synonyms.extend(self.synonyms.of(&parts));
        term.parts = Some(parts);
        Ok(Some(term))
    }

    fn derive(&self, text: &str, budget: u8, unfinished: bool) -> Result<Term> {
        let unfinished = unfinished && self.settings.prefix_search == PrefixSearch::IndexingTime;
        let term = Term { unfinished, budget, ..Term::empty(text.to_owned()) };
        if text.len() > WORD_BYTES_MAX {
            return Ok(Term { unfinished: false, budget: 0, ..term });
        }
        let of = term.key();
        let derived = match self.postings.cache().get::<cache::Derivations>(&of) {
            Some(derived) => derived,
            None => self.postings.insert::<cache::Derivations>(of.to_owned(), self.look_up(of)?),
        };
        Ok(Term { derived, ..term })
    }

    fn split(&self, text: &str, but: Option<usize>) -> Result<Option<Slots>> {
        let halves = self.postings.best_split(text, but, self.compounds.as_ref())?;
        Ok(halves.map(slots))
    }

    /// Adds a split whose second half is completed, if the word is the start of a text that a dictionary would cut. The start may be
    /// cut elsewhere than the complete text: 전자사 is 전 and 자사, but 전자사전 is 전자 and 사전.
    fn complete_split(&self, term: &mut Term, but: Option<usize>) -> Result<()> {
        let is_open = term.unfinished && term.split.is_none() && term.derived.exact.is_none();
        if is_open && self.has_dictionaries && needs_dictionary(&term.text) {
            let texts: Vec<String> = iter::once(term.text.clone()).chain(typed_on(&term.text)).collect();
            term.split = self.postings.completed_split(&texts, but, SPLIT_COMPLETIONS_MAX)?.map(slots);
        }
        Ok(())
    }

    fn look_up(&self, DerivationKey { text, budget, unfinished }: DerivationKey<&str>) -> Result<Derived> {
        let mut derived = Derived {
            exact: self.postings.word(text)?,
            completions: if unfinished { self.completions(text)? } else { Completions::default() },
            forms: Vec::new(),
            compounds: 0,
            pinyin: 0,
            halves: None,
            misspellings: match budget {
                0 => Misspellings::default(),
                typos => misspellings(self.postings, text, typos, unfinished)?,
            },
        };
        // With a budget, misspellings include these words.
        if budget == 0 && unfinished {
            self.add_typed_on(text, &mut derived.misspellings.one_typo)?;
        }
        if !self.stemmers.is_empty() || self.compounds.is_some() || self.settings.pinyin {
            self.add_forms(text, unfinished, &mut derived)?;
        }
        Ok(derived)
    }

    /// Adds words that a Korean word may become while it is typed.
    fn add_typed_on(&self, text: &str, words: &mut Vec<Word>) -> Result<()> {
        for start in typed_on(text) {
            self.postings.starting_with(&start, |word| {
                if self.postings.forgives(&word)? {
                    words.push(word);
                }
                let full = words.len() == ONE_TYPO_MAX;
                Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            if words.len() == ONE_TYPO_MAX {
                break;
            }
        }
        Ok(())
    }

    /// Adds the other forms of a word, the compounds with it and the words with this pinyin. If the index contains neither the word
    /// nor a form, adds the other forms of words at one edit from it, except of misspelt completions.
    fn add_forms(&self, text: &str, unfinished: bool, derived: &mut Derived) -> Result<()> {
        let Derived { exact, forms, compounds, pinyin, halves, misspellings, .. } = derived;
        let Misspellings { one_typo, two_typos } = misspellings;
        *forms = self.postings.forms([text].into_iter(), &self.stemmers, FORMS_MAX, |_| Ok(true))?;
        if let Some(rules) = &self.compounds {
            let mut found = self.postings.compounds(text, rules, COMPOUNDS_MAX, COMPOUND_CANDIDATES_MAX)?;
            found.retain(|word| forms.iter().all(|form| form.text != word.text));
            *compounds = found.len();
            forms.extend(found);
        }
        if let Some(read) = Pinyin::of(text, unfinished).filter(|_| self.settings.pinyin) {
            let found = self.postings.read_as(read, limits::PINYIN)?;
            // Words that jieba lacks, such as many traditional ones, are cut into their characters.
            *halves = self.postings.halves_read_as(text, unfinished, limits::PINYIN)?;
            *pinyin = found.len();
            forms.extend(found);
        }
        for misspelt in [&mut *one_typo, &mut *two_typos] {
            misspelt.retain(|word| forms.iter().all(|form| form.text != word.text));
        }
        if exact.is_none() && forms.is_empty() {
            let length = text.chars().count() + 1;
            let corrected = one_typo.iter().filter(|word| word.text.chars().count() <= length);
            let known = |word: &Word| two_typos.iter().chain(&*one_typo).any(|other| other.text == word.text);
            let texts = corrected.map(|word| &*word.text);
            let forms = self.postings.forms(texts, &self.stemmers, FORMS_MAX, |word| {
                Ok(!known(word) && self.postings.forgives(word)?)
            })?;
            two_typos.extend(forms);
        }
        Ok(())
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
            let full = words.len() == PREFIX_WORDS_MAX;
            Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let frequency: u64 = words.iter().map(Word::frequency_bound).sum();
        if words.len() < PREFIX_WORDS_MAX && frequency >= FREQUENT_COMPLETIONS_MIN {
            return Ok(Completions::Frequent(words, self.postings.prefix_docs(text)?));
        }
        Ok(Completions::Listed(words))
    }
}

fn slots((left, right): (String, String)) -> Slots {
    vec![Some(left), Some(right)]
}
