//! Searches the values of a field.

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder};
use roaring::RoaringBitmap;

use super::columns::Columns;
use super::searched_fields::FieldUse;
use crate::analysis::{Locales, normalize_facet_search};
use crate::error::Result;
use crate::settings::FacetOrder;

/// Number of values whose texts are read together, in dictionary order. More would be wasted if the first values match.
const CHUNK: usize = 1024;

/// A search for values of a field.
pub struct FacetQuery<'a> {
    /// The query, normalised for facet search. Every value matches an empty text.
    pub text: String,
    /// Number of edits allowed: 0, 1 or 2.
    pub typos: u8,
    /// True if the text may be a prefix of the value.
    pub prefix: bool,
    /// Languages of the field's values.
    pub locales: Locales<'a>,
}

/// A matching value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetHit {
    /// The spelling in the first document with it.
    pub value: String,
    /// Number of documents with it.
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
        // A column's value is lower-case. If it is also ASCII, normalising changes nothing.
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
    /// Returns string values at `path` in the live documents of `candidates` that match `query`, at most `max`.
    pub fn facet_search(
        &self,
        path: &str,
        query: &FacetQuery<'_>,
        candidates: &RoaringBitmap,
        order: FacetOrder,
        max: usize,
    ) -> Result<Vec<FacetHit>> {
        self.note(FieldUse::Count, path);
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
