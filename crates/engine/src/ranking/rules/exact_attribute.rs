//! Prefers attributes equal to the query, then attributes that begin with it.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::postings::{Word, bucketed};
use crate::query::{DerivationKinds, QueryGraph, TermNode, TermResolver};
use crate::ranking::rule::{Bucket, RankingRule, RuleSpec};
use crate::ranking::score::{MatchType, ScoreDetail};

/// The first half of exactness.
///
/// The query must have a reading in which every word is exact. Each word must be at its query position in some
/// attribute, and one attribute must contain all words. If this attribute has as many words as the query, it equals the
/// query. Source: search §7.7.
struct ExactAttributeRule {
    graph: Rc<QueryGraph>,
    /// Remaining buckets, best first. None: all remaining documents.
    left: std::array::IntoIter<(MatchType, Option<RoaringBitmap>), 3>,
    /// Number of documents in the universe at the start.
    documents: u64,
}

pub(super) fn spec<'a>(resolver: &'a TermResolver<'a>) -> RuleSpec<'a> {
    RuleSpec::new("exactAttribute", |universe, graph| ExactAttributeRule::new(resolver, graph, universe))
}

impl ExactAttributeRule {
    fn new(resolver: &TermResolver, graph: Rc<QueryGraph>, universe: &RoaringBitmap) -> Result<Self> {
        let (exact, start) = match expected(resolver, &graph)? {
            Some(expected) => candidates(resolver, &expected, universe)?,
            None => Default::default(),
        };
        let buckets =
            [(MatchType::Exact, Some(exact)), (MatchType::Start, Some(start)), (MatchType::None, None)];
        Ok(Self { graph, left: buckets.into_iter(), documents: universe.len() })
    }
}

impl RankingRule for ExactAttributeRule {
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, _: bool) -> Result<Option<Bucket>> {
        let is_intact = universe.len() == self.documents;
        let found = self.left.find_map(|(found, docs)| {
            let docs = match docs {
                None => Arc::clone(universe),
                Some(docs) if is_intact => Arc::new(docs),
                Some(docs) => Arc::new(docs & &**universe),
            };
            (!docs.is_empty()).then_some((docs, ScoreDetail::ExactAttribute(found)))
        });
        Ok(found.map(|(docs, detail)| Bucket { docs, detail, graph: Rc::clone(&self.graph) }))
    }
}

/// The words that an attribute must contain to match exactly.
struct Expected<'a> {
    /// Words by position in the query.
    words: Vec<(Cow<'a, Word>, u32)>,
    /// Number of query positions covered.
    length: usize,
}

/// Returns None if some term of the query has no exact form.
fn expected<'a>(resolver: &'a TermResolver, graph: &QueryGraph) -> Result<Option<Expected<'a>>> {
    let exact =
        |node: &TermNode| resolver.term(node).has_exact_form() && node.kinds.meets(DerivationKinds::EXACT);
    let mut nodes: Vec<_> = graph.nodes().map(|(_, node)| node).filter(|node| exact(node)).collect();
    nodes.sort_by_key(|node| *node.ids.start());
    nodes.dedup_by_key(|node| *node.ids.start());
    if nodes.is_empty() || nodes.iter().zip(0..).any(|(node, id)| *node.ids.start() != id) {
        return Ok(None);
    }
    let mut expected = Expected { words: Vec::new(), length: 0 };
    for node in nodes {
        let (term, start) = (resolver.term(node), *node.positions.start());
        expected.length += node.positions.clone().count();
        match &term.phrase {
            None => expected.words.extend(term.exact().map(|word| (Cow::Borrowed(word), start))),
            Some(slots) => {
                for (text, position) in slots.iter().zip(start..) {
                    let Some(text) = text else { continue };
                    let Some(word) = resolver.postings.word(text)? else { return Ok(None) };
                    expected.words.push((Cow::Owned(word), position));
                }
            }
        }
    }
    Ok(Some(expected))
}

/// Returns the documents with an attribute equal to the query, and those with an attribute that begins with it.
fn candidates(
    resolver: &TermResolver,
    expected: &Expected<'_>,
    universe: &RoaringBitmap,
) -> Result<(RoaringBitmap, RoaringBitmap)> {
    let postings = resolver.postings;
    let mut in_position = Cow::Borrowed(universe);
    let mut to_look_up: Vec<&(Cow<Word>, u32)> = Vec::new();
    for expected @ (word, position) in &expected.words {
        match postings.word_positions(word, &in_position)? {
            Some(cached) => {
                let docs = cached.at(bucketed(*position)).map(|docs| docs & &*in_position);
                in_position = Cow::Owned(docs.unwrap_or_default());
            }
            None => to_look_up.push(expected),
        }
    }
    let mut by_field: FxHashMap<u16, RoaringBitmap> = FxHashMap::default();
    for (at, (word, _)) in expected.words.iter().enumerate() {
        let docs = postings.word_docs(word)?;
        if at == 0 {
            let searched = docs.fields().filter(|(field, _)| resolver.searches(*field));
            by_field = searched.map(|(field, docs)| (field, docs & &*in_position)).collect();
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
        in_position = Cow::Owned(by_field.values().fold(RoaringBitmap::new(), |all, docs| all | docs));
    }
    for (word, position) in to_look_up {
        let mut here = Vec::new();
        postings.visit_positions([&**word].into_iter(), &in_position, |docid, _, positions| {
            if positions.iter().any(|&found| bucketed(found) == bucketed(*position)) {
                here.push(docid);
            }
        })?;
        in_position = Cow::Owned(here.into_iter().collect());
    }
    let (mut exact, mut start) = (RoaringBitmap::new(), RoaringBitmap::new());
    for (field, docs) in by_field {
        // Otherwise they were intersected when they were read.
        let docs = if is_looked_up { docs & &*in_position } else { docs };
        if !docs.is_empty() {
            exact |= &docs & &*postings.field_length_docs(field, expected.length)?;
            start |= docs;
        }
    }
    Ok((exact, start))
}
