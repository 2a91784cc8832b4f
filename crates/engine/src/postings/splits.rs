//! Finds the best way to split a word in two.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::Word;
use super::cache::Splits;
use super::field_docs::{FieldDocs, Reading};
use super::reader::Postings;
use crate::analysis::Compounds;
use crate::cache::Both;
use crate::error::Result;

impl Postings {
    /// Returns the two halves of `text` that are adjacent in the most documents of the index; on a tie, the split with
    /// the shorter first half. `None` if no split gives two adjacent words, or if the best one is at byte `excluded`.
    /// With `compounds`, which must be those of the settings, the first half may end with linking letters, which the
    /// result lacks. Computed once and cached.
    pub fn best_split(
        &self,
        text: &str,
        excluded: Option<usize>,
        compounds: Option<&Compounds>,
    ) -> Result<Option<(String, String)>> {
        let cut = match self.cache().get::<Splits>(&Both(text, &excluded)) {
            Some(known) => *known,
            None => {
                *self.insert::<Splits>((text.into(), excluded), self.best_cut(text, excluded, compounds)?)
            }
        };
        Ok(cut.and_then(|(at, part)| {
            let (start, end) = text.split_at(at);
            let left = first_parts(start, compounds).nth(part)?;
            Some((left.into_owned(), end.to_owned()))
        }))
    }

    /// As [`Self::best_split`] for the start of a text, which is one of `texts`: the second half may be completed, to one of its first
    /// `completions_max` completions in byte order. On a tie, the first text, split and completion wins. Not at byte `excluded`, and
    /// without compounds.
    pub fn completed_split(
        &self,
        texts: &[String],
        excluded: Option<usize>,
        completions_max: usize,
    ) -> Result<Option<(String, String)>> {
        let mut pairs = Vec::new();
        let splits = texts.iter().flat_map(|text| text.char_indices().skip(1).map(move |(at, _)| (text, at)));
        for (text, at) in splits.filter(|(_, at)| Some(*at) != excluded) {
            let (start, end) = text.split_at(at);
            let Some(left) = self.word(start)? else { continue };
            let last = pairs.len() + completions_max;
            self.starting_with(end, |right| {
                // The rarer half limits the number of documents with both.
                let bound = left.frequency_bound().min(right.frequency_bound());
                pairs.push((bound, pairs.len(), left.clone(), right));
                Ok(if pairs.len() == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
        }
        pairs.sort_by_key(|(bound, order, ..)| (std::cmp::Reverse(*bound), *order));
        let mut best: Option<(u64, usize, (Word, Word))> = None;
        for (bound, order, left, right) in pairs {
            if best.as_ref().is_some_and(|(most, ..)| bound < *most) {
                break;
            }
            let count = self.count_neighbours(&left, &right)?;
            let better = best
                .as_ref()
                .is_none_or(|(most, first, _)| count > *most || (count == *most && order < *first));
            if count > 0 && better {
                best = Some((count, order, (left, right)));
            }
        }
        Ok(best.map(|(.., (left, right))| (left.text.to_string(), right.text.to_string())))
    }

    /// Number of documents in which `right` directly follows `left`.
    pub(super) fn count_neighbours(&self, left: &Word, right: &Word) -> Result<u64> {
        let anywhere = |docs: &FieldDocs| docs.matching(Reading::default(), self.searchable());
        let both = anywhere(&*self.word_docs(left)?) & anywhere(&*self.word_docs(right)?);
        Ok(if both.is_empty() { 0 } else { self.pairs(left, right, &both)?[0].len() })
    }

    /// Returns the byte of the best split, and the number of its first half in [`first_parts`].
    fn best_cut(
        &self,
        text: &str,
        excluded: Option<usize>,
        compounds: Option<&Compounds>,
    ) -> Result<Option<(usize, usize)>> {
        let excluded = excluded.map(|at| (at, 0));
        let mut cuts = Vec::new();
        for (at, _) in text.char_indices().skip(1) {
            let (start, end) = text.split_at(at);
            let Some(right) = self.word(end)? else { continue };
            for (part, left) in first_parts(start, compounds).enumerate() {
                let is_linked = part > 0;
                if is_linked && compounds.is_none_or(|rules| !rules.is_part(&left) || !rules.is_part(end)) {
                    continue;
                }
                let Some(left) = self.word(&left)? else { continue };
                // The rarer half limits the number of documents with both.
                let bound = left.frequency_bound().min(right.frequency_bound());
                cuts.push((bound, (at, part), left, right.clone()));
            }
        }
        // The split at `excluded` is last: it is read only to check if it beats another split.
        cuts.sort_by_key(|(bound, at, ..)| (Some(*at) == excluded, std::cmp::Reverse(*bound), *at));
        let mut best: Option<(u64, (usize, usize))> = None;
        for (bound, at, left, right) in cuts {
            let is_beaten = best.is_some_and(|(most, first)| bound < most || (bound == most && first < at));
            if is_beaten || (best.is_none() && Some(at) == excluded) {
                continue;
            }
            let count = self.count_neighbours(&left, &right)?;
            let better = best.is_none_or(|(most, first)| count > most || (count == most && at < first));
            if count > 0 && better {
                best = Some((count, at));
            }
        }
        Ok(best.map(|(_, at)| at).filter(|at| Some(*at) != excluded))
    }
}

/// Returns the words that `start`, the first half of a word, may stand for; the first is `start` itself.
fn first_parts<'s>(start: &'s str, compounds: Option<&'s Compounds>) -> impl Iterator<Item = Cow<'s, str>> {
    let others = compounds.map(|rules| rules.first_parts(start).skip(1));
    std::iter::once(Cow::Borrowed(start)).chain(others.into_iter().flatten())
}
