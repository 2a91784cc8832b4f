//! Which words of the index may be meant by a misspelt one?

use std::ops::ControlFlow;

use super::reader::Postings;
use super::word::Word;
use crate::error::Result;

/// Words that stand where typos are forgiven, by how far they are from a query word.
#[derive(Default)]
pub struct Misspellings {
    /// One edit away.
    pub one_typo: Vec<Word>,
    /// Two edits away, or one in the first letter.
    pub two_typos: Vec<Word>,
}

impl Misspellings {
    /// About how much memory this takes.
    pub fn bytes(&self) -> usize {
        self.one_typo.iter().chain(&self.two_typos).map(Word::bytes).sum()
    }
}

impl Postings {
    /// The first words near `text`, in byte order: at most so many one edit away, and so many two, if as many `typos` are
    /// forgiven. If it is `unfinished`, any beginning of a word may be near.
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
            // Words that stand only where nothing is forgiven are of no use, and use up no bound.
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
