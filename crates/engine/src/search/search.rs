//! Answers a search.

use std::cell::RefCell;

use super::answer::{Answer, Facts};
use super::bounds::Bounds;
use super::facets::write_facets;
use super::hits::HitWriter;
use super::hydration::Hydration;
use super::json_writer::{write_display, write_json, write_text};
use super::ranked_search::{rank_search, scope_of};
use super::request::{SearchRequest, decode};
use super::search_deadline::SearchDeadline;
use super::stages::Stage;
use crate::error::Result;
use crate::filter::{ForeignIndexes, Indexes};
use crate::store::Snapshot;

/// Answers a search (`SearchRequest` as UTF-8 JSON). `indexes` resolves foreign keys.
///
/// # Errors
/// The API's code for a part of the request that the index settings do not allow.
pub fn run(
    snapshot: &Snapshot,
    request: &[u8],
    search_deadline: impl Into<SearchDeadline>,
    indexes: &dyn Indexes,
) -> Result<Answer> {
    let request: SearchRequest = decode(request)?;
    let search_deadline = search_deadline.into();
    let foreign = ForeignIndexes::new(indexes);
    let mut body = b"{".to_vec();
    let facts = write_members(snapshot, &request, &search_deadline, &foreign, &mut body)?;
    body.push(b'}');
    Ok(Answer { body, facts })
}

/// Appends the members of an answer, without braces, to `body`.
pub(super) fn write_members(
    snapshot: &Snapshot,
    request: &SearchRequest,
    search_deadline: &SearchDeadline,
    foreign: &ForeignIndexes<'_>,
    body: &mut Vec<u8>,
) -> Result<Facts> {
    let bounds = &Bounds::new(request.answer_bytes_max);
    let started = search_deadline.started;
    let scored = request.show_ranking_score || request.show_ranking_score_details;
    let scope = scope_of(request, search_deadline, foreign);
    let mut found = rank_search(snapshot, request, &scope, search_deadline, scored)?;
    let left = bounds.after(body.len());
    let hydration = Hydration::new(scope, request.features.legacy_search, left).map(RefCell::new);
    body.extend_from_slice(b"\"hits\":[");
    let mut hits = HitWriter::new(snapshot, request, &found, bounds, hydration.as_ref())?;
    found.page().iter().try_for_each(|hit| hits.collect(hit.docid))?;
    for (at, hit) in found.page().iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        hits.write_hit(hit, None, body)?;
    }
    found.stages.end(Stage::Format);
    body.extend_from_slice(b"],\"query\":");
    write_text(request.q.as_deref().unwrap_or_default(), body);
    if let Some(vector) = found.query_vector(request) {
        body.extend_from_slice(b",\"queryVector\":");
        write_json(&serde_json::json!(vector), body);
    }
    let candidates = &found.ranked.candidates;
    // The processing time includes counting facets, so they are counted before it is written.
    let mut facets = Vec::new();
    if let Some(names) = request.facets.as_deref().filter(|names| !names.is_empty()) {
        write_facets(snapshot, names, candidates, &bounds.after(body.len()), &mut facets)?;
        found.stages.end(Stage::Facets);
    }
    body.extend_from_slice(b",\"processingTimeMs\":");
    let time_at = Some(body.len());
    write_display(started.elapsed().as_millis(), body);
    let reachable = snapshot.settings().pagination.max_total_hits as u64;
    let total = candidates.len().min(if request.features.legacy_search { reachable } else { u64::MAX });
    request.paging.write(total, body);
    body.append(&mut facets);
    body.extend_from_slice(b",\"requestUid\":");
    write_text(&request.request_uid, body);
    if let Some(metadata) = &request.metadata {
        body.extend_from_slice(b",\"metadata\":");
        body.extend_from_slice(metadata.get().as_bytes());
    }
    if request.show_performance_details {
        found.stages.write(body);
    }
    if let Some(hits) = found.semantic_hits() {
        write_display(format_args!(",\"semanticHitCount\":{hits}"), body);
    }
    bounds.check(body.len())?;
    Ok(Facts { time_at, ..found.facts() })
}
