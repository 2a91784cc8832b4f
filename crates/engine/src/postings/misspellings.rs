//! Which words of the index may be meant by a misspelt one?

use std::ops::ControlFlow;
use std::sync::Arc;

use super::{Postings, Word};
use crate::error::Result;

/// Words that stand where typos are forgiven, by how far they are from a query word.
#[derive(Default)]
pub struct Misspellings {
    /// One edit away.
    pub one_typo: Vec<Word>,
    /// Two edits away, or one in the first letter.
    pub two_typos: Vec<Word>,
}

/// What is asked of [`Postings::misspellings`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Misspelt {
    /// As analysed.
    pub text: Box<str>,
    /// Typos forgiven: 1 or 2.
    pub typos: u8,
    /// Any beginning of a word may be near.
    pub unfinished: bool,
}

impl Misspellings {
    /// About how much memory this takes.
    pub fn bytes(&self) -> usize {
        self.one_typo.iter().chain(&self.two_typos).map(Word::bytes).sum()
    }
}

impl Postings {
    /// The first words near a query word, in byte order: at most so many one edit away, and so many two.
    /// Worked out once for a commit.
    pub fn misspellings(&self, of: Misspelt, one_max: usize, two_max: usize) -> Result<Arc<Misspellings>> {
        if let Some(known) = self.cache.misspellings.get(&of) {
            return Ok(known);
        }
        let mut found = Misspellings::default();
        self.near(&of.text, of.typos, of.unfinished, |word, typos| {
            // Words that stand only where nothing is forgiven are of no use, and use up no bound.
            if !self.forgives(&word)? {
                return Ok(ControlFlow::Continue(()));
            }
            match typos {
                1 if found.one_typo.len() < one_max => found.one_typo.push(word),
                2 if found.two_typos.len() < two_max => found.two_typos.push(word),
                _ => {}
            }
            let full = found.one_typo.len() == one_max && (of.typos < 2 || found.two_typos.len() == two_max);
            Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let found = Arc::new(found);
        self.keep(&self.cache.misspellings, of, Arc::clone(&found), found.bytes());
        Ok(found)
    }
}
