//! Beginnings that many words share, and where a word is best cut in two.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::segment::{ByField, PrefixDocs, unite};
use super::{FieldDocs, Postings, Reading};
use crate::error::Result;

impl Postings {
    /// Whether at least `words_min` words that begin with `prefix` stand where typos are forgiven.
    pub fn is_common_prefix(&self, prefix: &str, words_min: usize) -> Result<bool> {
        let key: Box<str> = prefix.into();
        if let Some(known) = self.cache.common.get(&key) {
            return Ok(*known);
        }
        let mut forgiving = 0;
        self.starting_with(prefix, |word| {
            forgiving += usize::from(self.forgives(&word)?);
            Ok(if forgiving < words_min { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        let is_common = forgiving >= words_min;
        self.keep(&self.cache.common, key, Arc::new(is_common), 0);
        Ok(is_common)
    }

    /// Documents of all words that begin with `prefix`, itself included, over the whole index. Worked out
    /// once; meant for beginnings of frequent words.
    pub fn prefix_docs(&self, prefix: &str) -> Result<Arc<FieldDocs>> {
        let key: Box<str> = prefix.into();
        if let Some(known) = self.cache.prefixes.get(&key) {
            return Ok(known);
        }
        let (mut all, mut forgiving) = (ByField::new(), ByField::new());
        let mut some_are_exact = false;
        for segment in self.segments() {
            let PrefixDocs { all: here, without_numbers } = segment.prefix_docs(prefix)?;
            some_are_exact |= without_numbers.is_some();
            for (field, docs) in without_numbers.as_ref().unwrap_or(&here) {
                unite(&mut forgiving, *field, docs);
            }
            here.iter().for_each(|(field, docs)| unite(&mut all, *field, docs));
        }
        let seen = |fields: ByField<_>| -> ByField<_> {
            fields.into_iter().filter(|(field, _)| self.searchable.weight(*field).is_some()).collect()
        };
        let forgiving = (some_are_exact && self.searchable.numbers_are_exact()).then(|| seen(forgiving));
        let docs = Arc::new(FieldDocs::new(seen(all), forgiving));
        self.keep(&self.cache.prefixes, key, Arc::clone(&docs), docs.bytes());
        Ok(docs)
    }

    /// The two halves of `text` that follow one another in the most documents of the index; of equals the
    /// one with the shorter first half. None if no cut gives two words that ever do, or if it is the one at `but`
    /// bytes. Worked out once.
    pub fn best_split(&self, text: &str, but: Option<usize>) -> Result<Option<(String, String)>> {
        let key = (text.into(), but);
        let cut = match self.cache.cuts.get(&key) {
            Some(known) => *known,
            None => {
                let cut = self.best_cut(text, but)?;
                self.keep(&self.cache.cuts, key, Arc::new(cut), 0);
                cut
            }
        };
        Ok(cut.map(|at| (text[..at].to_owned(), text[at..].to_owned())))
    }

    fn best_cut(&self, text: &str, but: Option<usize>) -> Result<Option<usize>> {
        let mut cuts = Vec::new();
        for (at, _) in text.char_indices().skip(1) {
            let Some(left) = self.word(&text[..at])? else { continue };
            let Some(right) = self.word(&text[at..])? else { continue };
            // No more documents can hold both than hold the rarer half.
            let bound = left.frequency_bound().min(right.frequency_bound());
            cuts.push((bound, at, left, right));
        }
        // One that is not wanted comes last: it may only spoil another, so where there is none it need not be read.
        cuts.sort_by_key(|(bound, at, ..)| (Some(*at) == but, std::cmp::Reverse(*bound), *at));
        let mut best: Option<(u64, usize)> = None;
        for (bound, at, left, right) in cuts {
            let is_beaten = best.is_some_and(|(most, first)| bound < most || (bound == most && first < at));
            if is_beaten || (best.is_none() && Some(at) == but) {
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
        Ok(best.map(|(_, at)| at).filter(|at| Some(*at) != but))
    }
}
