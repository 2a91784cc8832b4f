//! Explains a match: the terms of a query, and those found in one document.

use std::ops::RangeInclusive;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::cost::Removal;
use super::rank::{languages, parse, ruled_out};
use super::request::{MatchingStrategy, RankRequest};
use crate::analysis::{Analyzer, Language};
use crate::error::Result;
use crate::postings::Postings;
use crate::query::{Derivations, ParsedQuery, QueryGraph, Spelling, TermResolver, searched_fields};
use crate::store::Snapshot;

/// The terms of a query and their occurrence in a document.
pub(crate) struct WordsInDocument {
    /// Languages that the query may be in. Empty: any.
    pub languages: Vec<Language>,
    /// The parsed query.
    pub query: ParsedQuery,
    /// True if the document contains something that the query excludes.
    pub is_ruled_out: bool,
    /// Steps of reading the query: its terms, and joined neighbouring words.
    pub steps: Vec<WordStep>,
    /// True if the document matches a reading of the query, ignoring excluded words.
    pub matches: bool,
}

/// A step of reading a query.
pub(crate) struct WordStep {
    /// The word, or several words joined; empty for a phrase.
    pub text: String,
    /// The joined words. `None` for a term of the query.
    pub parts: Option<Vec<String>>,
    /// The words of a quoted phrase; `None` is a gap.
    pub phrase: Option<Vec<Option<String>>>,
    /// Numbers of the terms it covers.
    pub terms: RangeInclusive<usize>,
    /// Largest number of typos allowed.
    pub typos_max: u8,
    /// True if words with this prefix match too.
    pub is_unfinished: bool,
    /// True if a hit may lack it.
    pub is_optional: bool,
    /// True if the document matches it.
    pub is_in_document: bool,
    /// The best derivations, best first, and the number of all derivations.
    pub spellings: (Vec<Spelling>, usize),
}

/// Parses the query of `request` like a search and matches it against one document. The universe of `request` is
/// ignored. Reveals nothing about other documents, except those of `visible`.
///
/// # Errors
/// Same as [`super::rank`].
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
    let (graph, terms) =
        QueryGraph::new(&query.terms, &Derivations::new(&postings, analyzer), request.strategy)?;
    let resolver = TermResolver::new(&postings, terms, within.as_deref(), snapshot.shared_documents());
    let removal = Removal::new(request.strategy, &graph, &resolver)?;
    let matching = match request.strategy {
        MatchingStrategy::Any => resolver.any_set(&graph)?,
        _ => resolver.match_set(&graph, |node| removal.group[node].is_some())?,
    };
    let matches = matching.contains(docid);
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
