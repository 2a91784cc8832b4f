//! Finds the words of the index that a misspelt query word may stand for.

use std::ops::ControlFlow;

use super::reader::Postings;
use super::word::Word;
use crate::error::Result;

/// Words near a query word, by distance. At least one field with them forgives typos.
#[derive(Default)]
pub struct Misspellings {
    /// Words at one edit.
    pub one_typo: Vec<Word>,
    /// Words at two edits, or at one in the first letter; then other forms of words at one edit.
    pub two_typos: Vec<Word>,
}

impl Misspellings {
    /// Returns the approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.one_typo.iter().chain(&self.two_typos).map(Word::bytes).sum()
    }
}

impl Postings {
    /// Returns the first words near `text` in byte order: at most `one_max` at one edit and, if `typos` is 2, at most
    /// `two_max` at two. With `unfinished`, the distance is that of the closest prefix of a word.
    pub fn misspellings(
        &self,
        text: &str,
        typos: u8,
        unfinished: bool,
        one_max: usize,
        two_max: usize,
    ) -> Result<Misspellings> {
        let mut found = Misspellings::default();
        self.near(text, typos, unfinished, |word, typos_here| {
            // Words that occur only in fields without typo tolerance cannot match, so they do not count towards the
            // limits.
            if !self.forgives(&word)? {
                return Ok(ControlFlow::Continue(()));
            }
            match typos_here {
                1 if found.one_typo.len() < one_max => found.one_typo.push(word),
                2 if found.two_typos.len() < two_max => found.two_typos.push(word),
                _ => {}
            }
            let full = found.one_typo.len() == one_max && (typos < 2 || found.two_typos.len() == two_max);
            Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }
}
