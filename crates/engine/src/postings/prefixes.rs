//! Beginnings that many words share, and where a word is best cut in two.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::{FieldDocs, Postings, Reading, Word};
use crate::error::Result;

/// All words with one beginning.
pub struct Prefix {
    /// In byte order; the beginning itself may be one of them.
    pub words: Vec<Word>,
    /// How many of them stand where typos are forgiven.
    pub forgiving_words: usize,
    /// Their documents.
    pub docs: FieldDocs,
}

impl Prefix {
    pub(super) fn bytes(&self) -> usize {
        self.docs.bytes() + self.words.iter().map(Word::bytes).sum::<usize>()
    }
}

impl Postings {
    /// All words that begin with `prefix`. Meant for short ones: the answer is kept.
    pub fn prefix(&self, prefix: &str) -> Result<Arc<Prefix>> {
        let key: Box<str> = prefix.into();
        if let Some(known) = self.cache.prefixes.get(&key, Prefix::bytes) {
            return Ok(known);
        }
        let mut words = Vec::new();
        self.starting_with(prefix, |word| {
            words.push(word);
            Ok(ControlFlow::Continue(()))
        })?;
        let mut forgiving_words = 0;
        for word in &words {
            forgiving_words += usize::from(self.forgives(word)?);
        }
        let found = Arc::new(Prefix { forgiving_words, docs: self.docs(words.iter())?, words });
        self.cache.prefixes.insert(key, Arc::clone(&found), found.bytes());
        Ok(found)
    }

    /// The two halves of `text` that follow one another in the most documents of the index; of equals the
    /// one with the shorter first half. None if no cut gives two words that ever do.
    pub fn best_split(&self, text: &str) -> Result<Option<(String, String)>> {
        let key: Box<str> = text.into();
        let cut = match self.cache.cuts.get(&key, |_| 0) {
            Some(known) => *known,
            None => {
                let cut = self.best_cut(text)?;
                self.cache.cuts.insert(key, Arc::new(cut), 0);
                cut
            }
        };
        Ok(cut.map(|at| (text[..at].to_owned(), text[at..].to_owned())))
    }

    fn best_cut(&self, text: &str) -> Result<Option<usize>> {
        let mut cuts = Vec::new();
        for (at, _) in text.char_indices().skip(1) {
            let Some(left) = self.word(&text[..at])? else { continue };
            let Some(right) = self.word(&text[at..])? else { continue };
            // No more documents can hold both than hold the rarer half.
            let bound = left.frequency_bound().min(right.frequency_bound());
            cuts.push((bound, at, left, right));
        }
        cuts.sort_by_key(|(bound, at, ..)| (std::cmp::Reverse(*bound), *at));
        let mut best: Option<(u64, usize)> = None;
        for (bound, at, left, right) in cuts {
            if best.is_some_and(|(most, first)| bound < most || (bound == most && first < at)) {
                continue;
            }
            let anywhere = |docs: &FieldDocs| docs.matching(Reading::default(), self.searchable());
            let both = anywhere(&*self.word_docs(&left)?) & anywhere(&*self.word_docs(&right)?);
            let count = self.pairs(&left, &right, &both)?[0].len();
            let better = best.is_none_or(|(most, first)| count > most || (count == most && at < first));
            if count > 0 && better {
                best = Some((count, at));
            }
        }
        Ok(best.map(|(_, at)| at))
    }
}
