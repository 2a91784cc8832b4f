//! Finds compounds: words of the index that consist of a word and another word of the index.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::reader::Postings;
use super::word::Word;
use crate::analysis::Compounds;
use crate::error::Result;

impl Postings {
    /// Returns the first `max` compounds, in byte order, that begin or end with `word`. Examines only the first
    /// `candidates_max` words with that beginning or end.
    pub fn compounds(
        &self,
        word: &str,
        rules: &Compounds,
        max: usize,
        candidates_max: usize,
    ) -> Result<Vec<Word>> {
        if !rules.is_sought(word) {
            return Ok(Vec::new());
        }
        let mut parts = KnownParts { postings: self, rules, known: HashMap::new() };
        let mut found: BTreeSet<Box<str>> = BTreeSet::new();
        for start in [Some(word), rules.shortened(word)].into_iter().flatten() {
            let mut candidates = Vec::new();
            self.starting_with(start, |candidate| {
                if *candidate.text != *word {
                    candidates.push(candidate.text);
                }
                let full = candidates.len() == candidates_max;
                Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            for candidate in candidates {
                let end = &candidate[start.len()..];
                // Linking letters take the place of the dropped one.
                let links = if start.len() == word.len() { usize::MAX } else { 1 };
                if parts.any(rules.second_parts(end).take(links))? {
                    found.insert(candidate);
                }
            }
        }
        let mut candidates: BTreeSet<String> = BTreeSet::new();
        for segment in self.segments() {
            candidates.extend(segment.endings()?.words(word).map(str::to_owned));
        }
        candidates.remove(word);
        let mut examined = 0;
        for candidate in candidates {
            if examined == candidates_max {
                break;
            }
            if self.word(&candidate)?.is_none() {
                continue;
            }
            examined += 1;
            if parts.any(rules.first_parts(&candidate[..candidate.len() - word.len()]))? {
                found.insert(candidate.into());
            }
        }
        found.iter().take(max).filter_map(|text| self.word(text).transpose()).collect()
    }
}

/// Looks up parts, each once.
struct KnownParts<'a> {
    postings: &'a Postings,
    rules: &'a Compounds,
    known: HashMap<Box<str>, bool>,
}

impl KnownParts<'_> {
    /// Returns true if one of `parts` may be a part and is a word of the index.
    fn any(&mut self, parts: impl Iterator<Item = impl AsRef<str>>) -> Result<bool> {
        for part in parts {
            let part = part.as_ref();
            let is_known = match self.known.get(part) {
                Some(&known) => known,
                None => {
                    let known = self.rules.is_part(part) && self.postings.word(part)?.is_some();
                    self.known.insert(part.into(), known);
                    known
                }
            };
            if is_known {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
