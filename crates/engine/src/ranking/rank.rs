//! Ranks the documents in play for a query.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::bucket_sort::BucketSort;
use super::cost::Removal;
use super::ranked::Ranked;
use super::request::{MatchingStrategy, RankRequest};
use super::rules;
use crate::analysis::{Analyzer, Language, StopWordLists, parse_locales};
use crate::error::Result;
use crate::facets::{EVERY, FieldUse, SearchedFields};
use crate::fields::at_most;
use crate::postings::{Budget, Postings, Reading};
use crate::query::{
    ANY_TERMS_MAX, Derivations, HighlightTerms, ParsedQuery, QUERY_BYTES_MAX, QueryGraph, TERMS_MAX,
    TermResolver, searched_fields,
};
use crate::store::Snapshot;

/// Ranks the documents of `request.universe`.
///
/// # Errors
/// `invalid_search_attributes_to_search_on` if an attribute is not searchable. Otherwise internal.
pub fn rank(snapshot: &Snapshot, analyzer: &Analyzer, request: &RankRequest) -> Result<Ranked> {
    rank_within(snapshot, analyzer, request, Arc::new(request.deadline.budget()))
}

/// Like [`rank`], but ranks each of the disjoint `parts` of the universe separately. Documents in no part are not
/// ranked.
pub fn rank_parts(
    snapshot: &Snapshot,
    analyzer: &Analyzer,
    request: &RankRequest,
    parts: &[&RoaringBitmap],
) -> Result<Vec<Ranked>> {
    let mut ranked = Vec::with_capacity(parts.len());
    ranking(snapshot, analyzer, request, Arc::new(request.deadline.budget()), |universe, ranks| {
        for part in parts {
            ranked.push(ranks(Arc::new(&*universe & *part))?);
        }
        Ok(())
    })?;
    Ok(ranked)
}

/// Like [`rank`], with the budget of the caller instead of the deadline's.
pub(super) fn rank_within(
    snapshot: &Snapshot,
    analyzer: &Analyzer,
    request: &RankRequest,
    budget: Arc<Budget>,
) -> Result<Ranked> {
    ranking(snapshot, analyzer, request, budget, |universe, ranks| ranks(universe))
}

/// Prepares the ranking of the documents that match the query. `run` receives them, and a function that ranks some.
fn ranking<T>(
    snapshot: &Snapshot,
    analyzer: &Analyzer,
    request: &RankRequest,
    budget: Arc<Budget>,
    run: impl FnOnce(Arc<RoaringBitmap>, &dyn Fn(Arc<RoaringBitmap>) -> Result<Ranked>) -> Result<T>,
) -> Result<T> {
    let postings = match request.vector {
        Some(_) => None,
        None => Some(Postings::open(snapshot, Arc::clone(&budget))?),
    };
    let within = match (&postings, request.search_on) {
        (Some(postings), entries) => searched_fields(postings, entries)?,
        // Vectors have no fields, but an unknown entry is still an error.
        (None, Some(_)) => {
            searched_fields(&Postings::open(snapshot, Arc::clone(&budget))?, request.search_on)?;
            None
        }
        (None, None) => None,
    };
    let query = match &postings {
        Some(postings) => parse(postings, analyzer, request, within.as_deref()),
        None => ParsedQuery::default(),
    };
    let mut universe = present(&request.universe, snapshot);
    if let Some(postings) = postings.as_ref().filter(|_| query.used_negative_operator()) {
        universe = Arc::new(&*universe - &ruled_out(postings, &query, within.as_deref(), &universe)?);
    }
    let mut graph = QueryGraph::default();
    let mut resolver = None;
    if let Some(postings) = postings.as_ref().filter(|_| !query.terms.is_empty()) {
        snapshot.attachments().get::<SearchedFields>().note(FieldUse::Search, EVERY);
        let (all_readings, terms) =
            QueryGraph::new(&query.terms, &Derivations::new(postings, analyzer), request.strategy)?;
        graph = all_readings;
        // Frequencies count the documents of the complete index, regardless of the filter.
        let known = match request.strategy {
            MatchingStrategy::Frequency => snapshot.shared_documents(),
            MatchingStrategy::All | MatchingStrategy::Last | MatchingStrategy::Any => Arc::clone(&universe),
        };
        let words = TermResolver::new(postings, terms, within.as_deref(), known);
        let removal = Removal::new(request.strategy, &graph, &words)?;
        let matching = match request.strategy {
            MatchingStrategy::Any => words.any_set(&graph)?,
            _ => words.match_set(&graph, |node| removal.group[node].is_some())?,
        };
        universe = match request.strategy {
            MatchingStrategy::Frequency => Arc::new(&*matching & &*universe),
            MatchingStrategy::All | MatchingStrategy::Last | MatchingStrategy::Any => matching,
        };
        resolver = Some(words);
    }
    let highlight_terms = resolver
        .as_ref()
        .map_or_else(HighlightTerms::default, |words| HighlightTerms::new(&graph, words.terms()));
    let rules = rules::of_search(snapshot, request, resolver.as_ref(), &graph);
    run(universe, &|universe| {
        let sorted = BucketSort::new(snapshot, request, &budget).run(&graph, &rules, universe)?;
        Ok(Ranked {
            hits: sorted.hits,
            candidates: Arc::unwrap_or_clone(sorted.candidates),
            highlight_terms: highlight_terms.clone(),
            degraded: sorted.degraded,
            used_negative_operator: query.used_negative_operator(),
            terms: query.terms.len(),
        })
    })
}

/// Returns the live documents of `universe`. Without a filter these are all live documents.
fn present(universe: &Arc<RoaringBitmap>, snapshot: &Snapshot) -> Arc<RoaringBitmap> {
    let documents = snapshot.shared_documents();
    if Arc::ptr_eq(universe, &documents) { documents } else { Arc::new(&**universe & &*documents) }
}

pub(super) fn parse(
    postings: &Postings,
    analyzer: &Analyzer,
    request: &RankRequest,
    within: Option<&[u16]>,
) -> ParsedQuery {
    let Some(q) = request.q.filter(|q| !q.trim().is_empty()) else { return ParsedQuery::default() };
    let languages = languages(postings, analyzer, request, within);
    let locales = (!languages.is_empty()).then_some(languages.as_slice());
    let terms_max = if request.strategy == MatchingStrategy::Any { ANY_TERMS_MAX } else { TERMS_MAX };
    let lists = StopWordLists::of_codes(&postings.snapshot().settings().stop_word_lists);
    ParsedQuery::parse(&analyzer.tokens(at_most(q, QUERY_BYTES_MAX), locales), true, terms_max, &lists)
}

/// Returns the languages that the query may be in. Empty: any.
pub(super) fn languages(
    postings: &Postings,
    analyzer: &Analyzer,
    request: &RankRequest,
    within: Option<&[u16]>,
) -> Vec<Language> {
    match request.locales {
        Some(codes) => parse_locales(codes),
        None => languages_searched(postings, analyzer, within),
    }
}

/// Returns the languages of all searched attributes with a localized rule.
fn languages_searched(postings: &Postings, analyzer: &Analyzer, within: Option<&[u16]>) -> Vec<Language> {
    let searched = |field: &u16| within.is_none_or(|fields| fields.contains(field));
    let fields = postings.searchable().fields().filter(searched);
    let names = fields.filter_map(|field| postings.snapshot().fields().name(field));
    let mut languages = Vec::new();
    for language in names.filter_map(|name| analyzer.locales_of(name)).flatten() {
        if !languages.contains(language) {
            languages.push(*language);
        }
    }
    languages
}

/// Returns the documents of `universe` that contain an excluded word or phrase of the query exactly as written.
pub(super) fn ruled_out(
    postings: &Postings,
    query: &ParsedQuery,
    within: Option<&[u16]>,
    universe: &RoaringBitmap,
) -> Result<RoaringBitmap> {
    let reading = Reading { forgiving: false, within };
    let mut docs = RoaringBitmap::new();
    for text in &query.negative_words {
        if let Some(word) = postings.word(text)? {
            docs |= postings.word_docs(&word)?.matching(reading, postings.searchable());
        }
    }
    for phrase in &query.negative_phrases {
        let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
        docs |= postings.phrase_docs(&slots, reading, universe)?;
    }
    Ok(docs)
}
