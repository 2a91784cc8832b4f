//! Here is a text: which values of a field look like it?

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder};
use roaring::RoaringBitmap;

use super::columns::Columns;
use crate::analysis::{Locales, normalize_facet_search};
use crate::error::Result;
use crate::settings::FacetOrder;

/// Values whose texts are read together: many enough to read terms in dictionary order, few enough when the first
/// values fit already.
const CHUNK: usize = 1024;

/// A search among the values of a field.
pub struct FacetQuery<'a> {
    /// The text, normalised for facet search; every value fits an empty one.
    pub text: String,
    /// The number of edits that are forgiven: 0, 1 or 2.
    pub typos: u8,
    /// Whether a value may go on after the text.
    pub prefix: bool,
    /// Languages the field's values may be in.
    pub locales: Locales<'a>,
}

/// A value found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetHit {
    /// The spelling of the first document that has it.
    pub value: String,
    /// The number of documents that have it.
    pub count: u64,
}

enum Fits {
    Everything,
    Exactly(String),
    Starting(String),
    Automaton(Box<DFA>),
}

impl Fits {
    fn new(query: &FacetQuery<'_>) -> Self {
        let text = query.text.clone();
        match (text.is_empty(), query.typos, query.prefix) {
            (true, ..) => Self::Everything,
            (_, 0, true) => Self::Starting(text),
            (_, 0, false) => Self::Exactly(text),
            (_, typos, prefix) => {
                let builder = LevenshteinAutomatonBuilder::new(typos.min(2), true);
                let dfa = if prefix { builder.build_prefix_dfa(&text) } else { builder.build_dfa(&text) };
                Self::Automaton(Box::new(dfa))
            }
        }
    }

    fn fits(&self, normalised: &str, locales: Locales<'_>) -> bool {
        if matches!(self, Self::Everything) {
            return true;
        }
        // A column's value is lower-case; if it is ASCII as well, normalising changes nothing.
        let value = if normalised.is_ascii() {
            std::borrow::Cow::Borrowed(normalised)
        } else {
            normalize_facet_search(normalised, locales).into()
        };
        match self {
            Self::Everything => true,
            Self::Exactly(text) => *value == **text,
            Self::Starting(text) => value.starts_with(text.as_str()),
            Self::Automaton(dfa) => matches!(dfa.eval(value.as_bytes()), Distance::Exact(_)),
        }
    }
}

impl Columns {
    /// String values at `path` among the live documents of `candidates` that fit `query`, at most `max`.
    pub fn facet_search(
        &self,
        path: &str,
        query: &FacetQuery<'_>,
        candidates: &RoaringBitmap,
        order: FacetOrder,
        max: usize,
    ) -> Result<Vec<FacetHit>> {
        let field = self.field(path)?;
        let ranks = field.string_ranks()?;
        let counts = self.string_counts(&field, candidates, order)?;
        let values = counts.first(order, ranks.len);
        let fits = Fits::new(query);
        let mut hits = Vec::new();
        for chunk in values.chunks(CHUNK) {
            let texts = self.shown(&field, &ranks, chunk, candidates)?;
            for ((normalised, value), &rank) in texts.into_iter().zip(chunk) {
                if hits.len() == max {
                    return Ok(hits);
                }
                if fits.fits(&normalised, query.locales) {
                    hits.push(FacetHit { value, count: u64::from(counts.counts[rank as usize]) });
                }
            }
        }
        Ok(hits)
    }
}
