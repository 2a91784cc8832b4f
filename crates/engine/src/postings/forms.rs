//! Finds the other forms of words: words of the index with the same stem.

use std::collections::BTreeSet;

use super::reader::Postings;
use super::word::Word;
use crate::analysis::Stemmer;
use crate::error::Result;

impl Postings {
    /// Returns the first `max` words of the index, in byte order, that have the same stem as one of `texts`, except
    /// `texts` themselves and words that `accepts` refuses.
    pub fn forms<'t>(
        &self,
        texts: impl Iterator<Item = &'t str> + Clone,
        stemmers: &[Stemmer],
        max: usize,
        accepts: impl Fn(&Word) -> Result<bool>,
    ) -> Result<Vec<Word>> {
        let mut candidates: BTreeSet<String> = BTreeSet::new();
        for stemmer in stemmers {
            let segments: Vec<_> =
                self.segments().map(|segment| segment.stems(*stemmer)).collect::<Result<_>>()?;
            for text in texts.clone() {
                let Some(stem) = stemmer.stem(text) else { continue };
                for segment in &segments {
                    candidates.extend(segment.words(&stem).map(str::to_owned));
                }
                if stemmer.stem(&stem).is_some_and(|own| own == stem) {
                    candidates.insert(stem.into_owned());
                }
            }
        }
        for text in texts {
            candidates.remove(text);
        }
        let mut forms = Vec::new();
        for candidate in candidates {
            if forms.len() == max {
                break;
            }
            if let Some(word) = self.word(&candidate)?
                && accepts(&word)?
            {
                forms.push(word);
            }
        }
        Ok(forms)
    }
}
