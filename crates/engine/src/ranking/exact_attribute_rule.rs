//! Attributes that are the query come first, then those that begin with it.

use std::borrow::Cow;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::graph::Graph;
use super::lexicon::Lexicon;
use super::score::{MatchType, ScoreDetail};
use super::term::Classes;
use crate::error::Result;
use crate::postings::{Word, bucketed};

/// The first half of exactness: what is left of its buckets.
///
/// The query must be readable word by word in its exact form. Each word must stand, in any attribute, where
/// it stands in the query, and one attribute must hold them all; if it holds as many words as the query
/// asks for, it is the query. Source: search-semantics §7.7.
pub(super) struct ExactAttributeRule {
    /// Best first; None: all that are in none before.
    left: std::array::IntoIter<(MatchType, Option<RoaringBitmap>), 3>,
    /// Documents there were at the start.
    documents: u64,
}

impl ExactAttributeRule {
    /// Splits `universe`.
    pub(super) fn new(lexicon: &Lexicon, graph: &Graph, universe: &RoaringBitmap) -> Result<Self> {
        let (exact, start) = match expected(lexicon, graph)? {
            Some(expected) => candidates(lexicon, &expected, universe)?,
            None => Default::default(),
        };
        let buckets =
            [(MatchType::Exact, Some(exact)), (MatchType::Start, Some(start)), (MatchType::None, None)];
        Ok(Self { left: buckets.into_iter(), documents: universe.len() })
    }

    /// The best documents of `universe`, which holds none of those that were given away.
    pub(super) fn next(
        &mut self,
        universe: &Arc<RoaringBitmap>,
    ) -> Option<(Arc<RoaringBitmap>, ScoreDetail)> {
        let is_intact = universe.len() == self.documents;
        self.left.find_map(|(found, docs)| {
            let docs = match docs {
                None => Arc::clone(universe),
                Some(docs) if is_intact => Arc::new(docs),
                Some(docs) => Arc::new(docs & &**universe),
            };
            (!docs.is_empty()).then_some((docs, ScoreDetail::ExactAttribute(found)))
        })
    }
}

/// What an attribute must hold to be the query.
struct Expected<'a> {
    /// Words by position in the query.
    words: Vec<(Cow<'a, Word>, u32)>,
    /// Query positions covered.
    length: usize,
}

/// None if the query cannot be read in exact form from its first term on without a hole.
fn expected<'a>(lexicon: &'a Lexicon, graph: &Graph) -> Result<Option<Expected<'a>>> {
    let exact =
        |node: &super::graph::Node| lexicon.term(node).has_exact_form() && node.classes.meets(Classes::EXACT);
    let mut nodes: Vec<_> = graph.nodes().map(|(_, node)| node).filter(|node| exact(node)).collect();
    nodes.sort_by_key(|node| *node.ids.start());
    nodes.dedup_by_key(|node| *node.ids.start());
    if nodes.is_empty() || nodes.iter().zip(0..).any(|(node, id)| *node.ids.start() != id) {
        return Ok(None);
    }
    let mut expected = Expected { words: Vec::new(), length: 0 };
    for node in nodes {
        let (term, start) = (lexicon.term(node), *node.positions.start());
        expected.length += node.positions.clone().count();
        match &term.phrase {
            None => expected.words.extend(term.exact().map(|word| (Cow::Borrowed(word), start))),
            Some(slots) => {
                for (text, position) in slots.iter().zip(start..) {
                    let Some(text) = text else { continue };
                    let Some(word) = lexicon.postings.word(text)? else { return Ok(None) };
                    expected.words.push((Cow::Owned(word), position));
                }
            }
        }
    }
    Ok(Some(expected))
}

/// Documents one attribute of which is the query, and those one of which begins with it.
fn candidates(
    lexicon: &Lexicon,
    expected: &Expected<'_>,
    universe: &RoaringBitmap,
) -> Result<(RoaringBitmap, RoaringBitmap)> {
    let postings = lexicon.postings;
    let mut placed = Cow::Borrowed(universe);
    let mut to_look_up: Vec<&(Cow<Word>, u32)> = Vec::new();
    for expected @ (word, position) in &expected.words {
        match postings.word_positions(word, &placed)? {
            Some(kept) => {
                let docs = kept.at(bucketed(*position)).map(|docs| docs & &*placed);
                placed = Cow::Owned(docs.unwrap_or_default());
            }
            None => to_look_up.push(expected),
        }
    }
    let mut by_field: FxHashMap<u16, RoaringBitmap> = FxHashMap::default();
    for (at, (word, _)) in expected.words.iter().enumerate() {
        let docs = postings.word_docs(word)?;
        if at == 0 {
            let searched = docs.fields().filter(|(field, _)| lexicon.searches(*field));
            by_field = searched.map(|(field, docs)| (field, docs & &*placed)).collect();
        } else {
            by_field.retain(|&field, all| {
                docs.in_field(field).is_some_and(|docs| {
                    *all &= docs;
                    !all.is_empty()
                })
            });
        }
    }
    let is_looked_up = !to_look_up.is_empty();
    if is_looked_up {
        placed = Cow::Owned(by_field.values().fold(RoaringBitmap::new(), |all, docs| all | docs));
    }
    for (word, position) in to_look_up {
        let mut here = Vec::new();
        postings.visit_positions([&**word].into_iter(), &placed, |docid, _, positions| {
            if positions.iter().any(|&found| bucketed(found) == bucketed(*position)) {
                here.push(docid);
            }
        })?;
        placed = Cow::Owned(here.into_iter().collect());
    }
    let (mut exact, mut start) = (RoaringBitmap::new(), RoaringBitmap::new());
    for (field, docs) in by_field {
        // Otherwise they are in it since they were read.
        let docs = if is_looked_up { docs & &*placed } else { docs };
        if !docs.is_empty() {
            exact |= &docs & &*postings.field_length_docs(field, expected.length)?;
            start |= docs;
        }
    }
    Ok((exact, start))
}
