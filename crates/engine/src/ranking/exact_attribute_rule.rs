//! Attributes that are the query come first, then those that begin with it.

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::graph::Graph;
use super::lexicon::Lexicon;
use super::score::MatchType;
use super::term::Classes;
use crate::error::Result;
use crate::postings::{Word, bucketed};

/// The documents of `universe` in three buckets, best first. The first half of exactness.
///
/// The query must be readable word by word in its exact form. Each word must stand, in any attribute, where
/// it stands in the query, and one attribute must hold them all; if it holds as many words as the query
/// asks for, it is the query. Source: search-semantics §7.7.
pub(super) fn buckets(
    lexicon: &Lexicon,
    graph: &Graph,
    universe: &RoaringBitmap,
) -> Result<[(MatchType, RoaringBitmap); 3]> {
    let (exact, start) = match expected(lexicon, graph)? {
        Some(expected) => candidates(lexicon, &expected, universe)?,
        None => Default::default(),
    };
    let start = start - &exact;
    let others = universe - &exact - &start;
    Ok([(MatchType::Exact, exact), (MatchType::Start, start), (MatchType::None, others)])
}

/// What an attribute must hold to be the query.
struct Expected {
    /// Words by position in the query.
    words: Vec<(Word, u32)>,
    /// Query positions covered.
    length: usize,
}

/// None if the query cannot be read in exact form from its first term on without a hole.
fn expected(lexicon: &Lexicon, graph: &Graph) -> Result<Option<Expected>> {
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
            None => expected.words.extend(term.exact().cloned().map(|word| (word, start))),
            Some(slots) => {
                for (text, position) in slots.iter().zip(start..) {
                    let Some(text) = text else { continue };
                    let Some(word) = lexicon.postings.word(text)? else { return Ok(None) };
                    expected.words.push((word, position));
                }
            }
        }
    }
    Ok(Some(expected))
}

/// Documents one attribute of which is the query, and those one of which begins with it.
fn candidates(
    lexicon: &Lexicon,
    expected: &Expected,
    universe: &RoaringBitmap,
) -> Result<(RoaringBitmap, RoaringBitmap)> {
    let postings = lexicon.postings;
    let mut by_field: FxHashMap<u16, RoaringBitmap> = FxHashMap::default();
    for (at, (word, _)) in expected.words.iter().enumerate() {
        let docs = postings.word_docs(word)?;
        if at == 0 {
            let searched = docs.fields().filter(|(field, _)| lexicon.searches(*field));
            by_field = searched.map(|(field, docs)| (field, docs & universe)).collect();
        } else {
            by_field.retain(|&field, all| {
                docs.in_field(field).is_some_and(|docs| {
                    *all &= docs;
                    !all.is_empty()
                })
            });
        }
    }
    let mut placed = by_field.values().fold(RoaringBitmap::new(), |all, docs| all | docs);
    for (word, position) in &expected.words {
        if placed.is_empty() {
            return Ok(Default::default());
        }
        if let Some(kept) = postings.word_positions(word, &placed)? {
            placed = kept.at(bucketed(*position)).map_or_else(RoaringBitmap::new, |docs| docs & &placed);
            continue;
        }
        let mut here = RoaringBitmap::new();
        postings.visit_positions([word].into_iter(), &placed, |docid, _, positions| {
            if positions.iter().any(|&found| bucketed(found) == bucketed(*position)) {
                here.insert(docid);
            }
        })?;
        placed = here;
    }
    let (mut exact, mut start) = (RoaringBitmap::new(), RoaringBitmap::new());
    for (field, docs) in by_field {
        let docs = docs & &placed;
        if !docs.is_empty() {
            exact |= &docs & &*postings.field_length_docs(field, expected.length)?;
            start |= docs;
        }
    }
    Ok((exact, start))
}
