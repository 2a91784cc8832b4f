//! Here is a query and a document: what does the query ask for, and what of it has the document?

use std::ops::RangeInclusive;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::cost::Removal;
use super::rank::{languages, parse, ruled_out};
use super::request::RankRequest;
use crate::analysis::{Analyzer, Language};
use crate::error::Result;
use crate::postings::Postings;
use crate::query::{Derivations, ParsedQuery, QueryGraph, Spelling, TermResolver, searched_fields};
use crate::store::Snapshot;

/// What a query asks for, and what of it a document has.
pub(crate) struct WordsInDocument {
    /// The languages that the query may be in; none: any.
    pub languages: Vec<Language>,
    /// The query, taken apart.
    pub query: ParsedQuery,
    /// Whether the document holds something that the query rules out.
    pub is_ruled_out: bool,
    /// The steps of reading the query: its terms, and neighbouring words joined.
    pub steps: Vec<WordStep>,
    /// Whether the document matches a way of reading the query, whatever is ruled out.
    pub matches: bool,
}

/// A step of reading a query.
pub(crate) struct WordStep {
    /// The word, joined for several; empty for a phrase.
    pub text: String,
    /// The words that were joined; `None` for a term of the query.
    pub parts: Option<Vec<String>>,
    /// The words of a quoted phrase, with `None` for a gap.
    pub phrase: Option<Vec<Option<String>>>,
    /// Numbers of the terms that it covers.
    pub terms: RangeInclusive<usize>,
    /// Typos that are forgiven.
    pub typos_max: u8,
    /// Whether anything that begins with it matches too.
    pub is_unfinished: bool,
    /// Whether a hit may lack it.
    pub is_optional: bool,
    /// Whether the document matches it.
    pub is_in_document: bool,
    /// What may stand for it, the best first, and the number of all.
    pub spellings: (Vec<Spelling>, usize),
}

/// Reads the query of `request` as a search does, whose universe is not looked at, and looks for it in a document.
/// Of other documents nothing is told but for those of `visible`.
///
/// # Errors
/// Those of [`super::rank`].
pub(crate) fn words_in_document(
    snapshot: &Snapshot,
    analyzer: &Analyzer,
    request: &RankRequest,
    docid: u32,
    visible: &RoaringBitmap,
) -> Result<WordsInDocument> {
    let postings = Postings::open(snapshot, Arc::new(request.deadline.budget()))?;
    let within = searched_fields(&postings, request.search_on)?;
    let query = parse(&postings, analyzer, request, within.as_deref());
    let own = RoaringBitmap::from([docid]);
    let is_ruled_out = query.used_negative_operator()
        && ruled_out(&postings, &query, within.as_deref(), &own)?.contains(docid);
    let (graph, terms) = QueryGraph::new(&query.terms, &Derivations::new(&postings, analyzer))?;
    let resolver = TermResolver::new(&postings, terms, within.as_deref(), snapshot.shared_documents());
    let removal = Removal::new(request.strategy, &graph, &resolver)?;
    let matches = resolver.match_set(&graph, |node| removal.group[node].is_some())?.contains(docid);
    let steps = graph
        .nodes()
        .map(|(id, node)| {
            let term = resolver.term(node);
            Ok(WordStep {
                text: term.text.clone(),
                parts: term.parts.clone(),
                phrase: term.phrase.clone(),
                terms: node.ids.clone(),
                typos_max: term.budget,
                is_unfinished: term.unfinished,
                is_optional: removal.group[id].is_some(),
                is_in_document: resolver.node_docs(node)?.contains(docid),
                spellings: resolver.spellings(node, docid, visible)?,
            })
        })
        .collect::<Result<_>>()?;
    let languages = languages(&postings, analyzer, request, within.as_deref());
    Ok(WordsInDocument { languages, query, is_ruled_out, steps, matches })
}
