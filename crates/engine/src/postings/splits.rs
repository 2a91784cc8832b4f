//! Finds the best way to split a word in two.

use super::cache::Splits;
use super::field_docs::{FieldDocs, Reading};
use super::reader::Postings;
use crate::cache::Both;
use crate::error::Result;

impl Postings {
    /// Returns the two halves of `text` that are adjacent in the most documents of the index; on a tie, the split with
    /// the shorter first half. `None` if no split gives two adjacent words, or if the best one is at byte `excluded`.
    /// Computed once and cached.
    pub fn best_split(&self, text: &str, excluded: Option<usize>) -> Result<Option<(String, String)>> {
        let cut = match self.cache().get::<Splits>(&Both(text, &excluded)) {
            Some(known) => *known,
            None => *self.insert::<Splits>((text.into(), excluded), self.best_cut(text, excluded)?),
        };
        Ok(cut.map(|at| (text[..at].to_owned(), text[at..].to_owned())))
    }

    fn best_cut(&self, text: &str, excluded: Option<usize>) -> Result<Option<usize>> {
        let mut cuts = Vec::new();
        for (at, _) in text.char_indices().skip(1) {
            let Some(left) = self.word(&text[..at])? else { continue };
            let Some(right) = self.word(&text[at..])? else { continue };
            // The rarer half limits the number of documents with both.
            let bound = left.frequency_bound().min(right.frequency_bound());
            cuts.push((bound, at, left, right));
        }
        // The split at `excluded` is last: it is read only to check if it beats another split.
        cuts.sort_by_key(|(bound, at, ..)| (Some(*at) == excluded, std::cmp::Reverse(*bound), *at));
        let mut best: Option<(u64, usize)> = None;
        for (bound, at, left, right) in cuts {
            let is_beaten = best.is_some_and(|(most, first)| bound < most || (bound == most && first < at));
            if is_beaten || (best.is_none() && Some(at) == excluded) {
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
        Ok(best.map(|(_, at)| at).filter(|at| Some(*at) != excluded))
    }
}
