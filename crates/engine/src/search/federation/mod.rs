//! Merges several searches into one list.
//!
//! 1. Each query is ranked separately. First hits are compared value by value (`compare`), never by a single number.
//! 2. A document found by several queries is listed once, at its best position (`merge`).
//! 3. Totals and facets count the union of the documents that the queries of an index find (`facets`).
//!
//! Source: search §15, operations §17.

mod facets;
mod merge;
mod order;
mod query;
mod request;

use std::cell::RefCell;
use std::time::Instant;

use roaring::RoaringBitmap;
use serde_json::json;

use self::facets::FoundIn;
use self::merge::{Candidate, DistinctValue, merge};
use self::order::require_comparable;
use self::query::Query;
use self::request::Federation;
use super::answer::{Answer, Facts};
use super::bounds::Bounds;
use super::compare;
use super::hits::HitWriter;
use super::hydration::Hydration;
use super::json_writer::{write_display, write_json, write_text};
use super::multi::{IndexedSearch, at_query};
use super::ranked_search::{rank_search, scope_of};
use super::request::{SearchRequest, decode};
use super::search_deadline::SearchDeadline;
use super::stages::{Stage, Stages};

use crate::error::Result;
use crate::filter::{ForeignIndexes, Indexes};
use crate::ranking::{RankedHit, ScoreDetail};

/// Merges the answers of several searches as configured by `federation` (`FederationRequest` as UTF-8 JSON).
///
/// # Errors
/// The error of the first search that fails, with its position; `invalid_multi_search_query_ranking_rules` and
/// `invalid_multi_search_facet_order` if the orders of hits or facet values cannot be compared.
pub fn federated_search(
    searches: &[IndexedSearch],
    federation: &[u8],
    search_deadline: &SearchDeadline,
    indexes: &dyn Indexes,
) -> Result<Answer> {
    let foreign = ForeignIndexes::new(indexes);
    let started = Instant::now();
    let federation: Federation = decode(federation)?;
    let mut stages = Stages::new(federation.show_performance_details, search_deadline.started, None);
    let bounds = Bounds::new(federation.answer_bytes_max);
    let queries = searches.iter().enumerate();
    let queries: Vec<Query> = queries
        .map(|(at, search)| rank(search, at, &federation, (search_deadline, &foreign)))
        .collect::<Result<_>>()?;
    require_comparable(&queries)?;
    for (at, query) in queries.iter().enumerate() {
        stages.include(&query.found.stages, federation.positions.get(at).copied().unwrap_or(at));
    }
    let window = federation.paging.window(usize::MAX);
    let merged = merge(&queries, &federation.weights, federation.distinct.as_deref(), window.end)?;
    stages.end(Stage::MergeResults);
    let mut found = found_in(&queries, &merged.dropped);
    let page = merged.hits.get(window.start..).unwrap_or_default();
    let mut body = b"{\"hits\":[".to_vec();
    // All queries share it: an id collected from one query is replaced in the hits of all.
    let joining = queries.iter().find(|query| !query.request.foreign_keys().is_empty());
    let hydration = joining
        .and_then(|query| Hydration::new(scope_of(&query.request, search_deadline, &foreign), false, bounds));
    let hydration = hydration.map(RefCell::new);
    write_hits(&queries, page, (&federation, &bounds, hydration.as_ref()), &mut body)?;
    body.extend_from_slice(b"]");
    stages.end(Stage::Format);
    write_query_vectors(&queries, &federation, &mut body);
    let total = found.iter().map(|one| one.documents.len()).sum();
    let mut facets = Vec::new();
    facets::write(&mut found, &federation, &bounds, &mut facets)?;
    stages.end(Stage::Facets);
    write_display(format_args!(",\"processingTimeMs\":{}", started.elapsed().as_millis()), &mut body);
    federation.paging.write(total, &mut body);
    body.append(&mut facets);
    body.extend_from_slice(b",\"requestUid\":");
    write_text(&federation.request_uid, &mut body);
    if let Some(metadata) = &federation.metadata {
        body.extend_from_slice(b",\"metadata\":");
        body.extend_from_slice(metadata.get().as_bytes());
    }
    if federation.show_performance_details {
        stages.write(&mut body);
    }
    let facts = facts_of(&queries, page);
    if let Some(hits) = facts.semantic_hits {
        write_display(format_args!(",\"semanticHitCount\":{hits}"), &mut body);
    }
    body.push(b'}');
    bounds.check(body.len())?;
    Ok(Answer { body, facts })
}

/// Writes the query vectors that were compared, if vectors are requested. Source: vectors §6.7.
fn write_query_vectors(queries: &[Query], federation: &Federation, out: &mut Vec<u8>) {
    let shown = queries.iter().enumerate().filter_map(|(at, query)| {
        let position = federation.positions.get(at).copied().unwrap_or(at);
        Some((position.to_string(), json!(query.found.query_vector(&query.request)?)))
    });
    let shown: serde_json::Map<String, serde_json::Value> = shown.collect();
    if !shown.is_empty() {
        out.extend_from_slice(b",\"queryVectors\":");
        write_json(&shown, out);
    }
}

fn rank<'s>(
    search: &'s IndexedSearch,
    at: usize,
    federation: &Federation,
    (search_deadline, foreign): (&SearchDeadline, &ForeignIndexes<'_>),
) -> Result<Query<'s>> {
    if at > 0 {
        search_deadline.check()?;
    }
    let mut request: SearchRequest = decode(&search.request)?;
    request.paging = federation.paging;
    request.show_performance_details = federation.show_performance_details;
    if federation.distinct.is_some() {
        request.distinct.clone_from(&federation.distinct);
    }
    // Hits of different queries are compared by their scores.
    let search_deadline = search_deadline.restarted();
    let scope = scope_of(&request, &search_deadline, foreign);
    let found = rank_search(&search.snapshot, &request, &scope, &search_deadline, true)
        .map_err(|error| at_query(error, at))?;
    Ok(Query { search, request, found })
}

/// Returns the documents found by the queries of each index, without those excluded by `distinct`.
fn found_in(queries: &[Query], dropped: &[(usize, u32)]) -> Vec<FoundIn> {
    let mut ids: Vec<&str> = Vec::new();
    let mut found: Vec<FoundIn> = Vec::new();
    for query in queries {
        let candidates = &query.found.ranked.candidates;
        match ids.iter().position(|id| *id == query.search.index) {
            Some(at) => found[at].documents |= candidates,
            None => {
                ids.push(&query.search.index);
                found.push(FoundIn {
                    uid: query.request.index_uid.clone(),
                    snapshot: query.search.snapshot.clone(),
                    documents: candidates.clone(),
                    merged_away: RoaringBitmap::new(),
                });
            }
        }
    }
    for &(query, docid) in dropped {
        if let Some(at) = ids.iter().position(|id| *id == queries[query].search.index) {
            found[at].documents.remove(docid);
            found[at].merged_away.insert(docid);
        }
    }
    found
}

fn write_hits(
    queries: &[Query],
    hits: &[Candidate],
    (federation, bounds, hydration): (&Federation, &Bounds, Option<&RefCell<Hydration<'_>>>),
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut writers: Vec<HitWriter> = queries
        .iter()
        .map(|query| HitWriter::new(&query.search.snapshot, &query.request, &query.found, bounds, hydration))
        .collect::<Result<_>>()?;
    hits.iter().try_for_each(|candidate| writers[candidate.query].collect(candidate.hit.docid))?;
    for (at, candidate) in hits.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let origin = federation_of(&queries[candidate.query], candidate, federation);
        writers[candidate.query].write_hit(candidate.hit, Some(&origin), out)?;
    }
    Ok(())
}

/// Returns the `_federation` of a hit.
fn federation_of(query: &Query, candidate: &Candidate, federation: &Federation) -> serde_json::Value {
    let position = federation.positions.get(candidate.query).copied().unwrap_or(candidate.query);
    let mut shown = json!({
        "indexUid": query.request.index_uid,
        "queriesPosition": position,
        "weightedRankingScore": candidate.score,
    });
    if let Some(origin) = &federation.origin {
        shown["remote"] = json!(origin.remote);
    }
    if federation.show_score_values {
        shown["weightedScoreValues"] = candidate.values.iter().map(compare::Value::render).collect();
        let distinct = candidate.distinct.iter().map(|value| match value {
            DistinctValue::Number(bits) => json!(f64::from_bits(*bits)),
            DistinctValue::Text(text) => json!(text),
        });
        shown["distinctValues"] = distinct.collect();
    }
    shown
}

fn facts_of(queries: &[Query], page: &[Candidate]) -> Facts {
    let mut facts = Facts { hits: page.len(), ..Facts::default() };
    for query in queries {
        let one = query.found.facts();
        facts.degraded |= one.degraded;
        facts.used_negative_operator |= one.used_negative_operator;
        facts.terms = facts.terms.max(one.terms);
        facts.semantic_hits = facts.semantic_hits.or(one.semantic_hits.map(|_| 0));
    }
    let by_vector =
        |hit: &RankedHit| hit.scores.iter().any(|detail| matches!(detail, ScoreDetail::Vector { .. }));
    facts.semantic_hits =
        facts.semantic_hits.map(|_| page.iter().filter(|candidate| by_vector(candidate.hit)).count());
    facts
}
