//! Finds documents similar to a given document. Source: vectors §7.

use std::sync::Arc;
use std::time::Instant;

use roaring::RoaringBitmap;

use super::analyzer::analyzer;
use super::answer::{Answer, Facts};
use super::bounds::Bounds;
use super::hits::HitWriter;
use super::json_writer::{write_display, write_text};
use super::ranked_search::RankedSearch;
use super::request::{Paging, SearchRequest, SimilarRequest, decode};
use super::search_deadline::SearchDeadline;
use super::semantic::embedder_named;
use super::stages::{Stage, Stages};
use crate::error::{Error, Result};
use crate::filter::{self, Foreign, ForeignIndexes, Indexes, Scope};
use crate::ranking::{MatchingStrategy, RankRequest, Ranked, rank};
use crate::store::Snapshot;
use crate::vector::{Embedder, Nearest, Vectors};

/// Answers a request for similar documents (`SimilarRequest` as UTF-8 JSON) that began at `started`. `indexes` resolves
/// foreign keys.
///
/// # Errors
/// `invalid_similar_embedder`, `invalid_similar_filter`, `not_found_similar_id`.
pub fn similar(
    snapshot: &Snapshot,
    request: &[u8],
    started: Instant,
    indexes: &dyn Indexes,
) -> Result<Answer> {
    let request: SimilarRequest = decode(request)?;
    let mut stages = Stages::new(request.show_performance_details, started, None);
    let foreign = ForeignIndexes::new(indexes);
    let uid = &request.index_uid;
    let embedder = embedder_named(snapshot, &request.embedder, "invalid_similar_embedder", uid)?;
    let mut universe = filtered(snapshot, &request, &request.filter, "invalid_similar_filter", &foreign)?;
    let target = visible_target(snapshot, &request, &foreign)?;
    Arc::make_mut(&mut universe).remove(target);
    stages.end(Stage::EvaluateFilter);
    let (ranked, total) = nearest(snapshot, &request, &embedder, target, universe, started)?;
    stages.end(Stage::SemanticRanking);
    let asked = as_search(&request);
    let mut found = RankedSearch::of_page(ranked, request.offset, request.limit, stages);
    let mut body = b"{\"hits\":[".to_vec();
    let bounds = Bounds::new(request.answer_bytes_max);
    let mut hits = HitWriter::new(snapshot, &asked, &found, &bounds, None)?;
    for (at, hit) in found.page().iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        hits.write_hit(hit, None, &mut body)?;
    }
    found.stages.end(Stage::Format);
    bounds.check(body.len())?;
    body.extend_from_slice(b"],\"id\":");
    write_text(&request.id, &mut body);
    let total = total.min(snapshot.settings().pagination.max_total_hits as u64);
    write_display(
        format_args!(
            ",\"processingTimeMs\":{},\"limit\":{},\"offset\":{},\"estimatedTotalHits\":{total}",
            started.elapsed().as_millis(),
            request.limit,
            request.offset
        ),
        &mut body,
    );
    if request.show_performance_details {
        found.stages.write(&mut body);
    }
    body.push(b'}');
    let hits = found.page().len();
    Ok(Answer { body, facts: Facts { semantic_hits: Some(hits), hits, ..Facts::default() } })
}

fn filtered(
    snapshot: &Snapshot,
    request: &SimilarRequest,
    filter: &serde_json::Value,
    code: &'static str,
    indexes: &ForeignIndexes<'_>,
) -> Result<Arc<RoaringBitmap>> {
    let (index_uid, features) = (Some(request.index_uid.as_str()), request.features);
    let foreign = request.foreign_keys.as_deref().map(|keys| Foreign { keys, indexes });
    let scope = Scope { code, index_uid, features, stop: None, until: None, foreign };
    filter::passing(snapshot, filter, &scope)
}

fn visible_target(
    snapshot: &Snapshot,
    request: &SimilarRequest,
    indexes: &ForeignIndexes<'_>,
) -> Result<u32> {
    let visible = filtered(snapshot, request, &request.visible, "invalid_search_filter", indexes)?;
    let target = snapshot.docid_of(&request.id)?.filter(|docid| visible.contains(*docid));
    target.ok_or_else(|| {
        let message =
            format!("Index `{}`: there is no document with the id `{}`", request.index_uid, request.id);
        Error::user("not_found_similar_id", message)
    })
}

/// Returns documents with vectors, nearest first, and the total.
fn nearest(
    snapshot: &Snapshot,
    request: &SimilarRequest,
    embedder: &Embedder,
    target: u32,
    universe: Arc<RoaringBitmap>,
    started: Instant,
) -> Result<(Ranked, u64)> {
    let index = Vectors::of(snapshot).index(&embedder.name)?;
    let set = index.as_ref().map(|index| index.set());
    let rows = set.and_then(|set| set.get(target)).map(|known| known.rows).unwrap_or_default();
    let dimensions = set.map_or(1, |set| set.shape().dimensions.max(1));
    let vectors: Vec<Vec<f32>> = rows.chunks_exact(dimensions).map(<[f32]>::to_vec).collect();
    let mut total = universe.len();
    let embedded = set.map(|set| &*universe & &set.flags().embedded).unwrap_or_default();
    let threshold = request.ranking_score_threshold;
    // Every document reaches 0, also one without vectors.
    let restricts = threshold.is_some_and(|least| least > 0.0);
    let within = request.offset.saturating_add(request.limit);
    let ask = RankRequest {
        q: None,
        // Nothing is similar to a document without vectors.
        universe: Arc::new(if vectors.is_empty() { RoaringBitmap::new() } else { embedded }),
        strategy: MatchingStrategy::All,
        search_on: None,
        locales: None,
        sort: &[],
        distinct: None,
        threshold,
        // Only ranking shows which documents reach a threshold, so with a threshold all are ranked.
        wanted: if restricts { usize::MAX } else { within },
        exhaustive: false,
        vector: Some(Arc::new(Nearest::new(index, embedder, &vectors))),
        only_by_vector: true,
        deadline: SearchDeadline::from(started).deadline(snapshot),
        scored: true,
    };
    let found_any = !ask.universe.is_empty();
    let ranked = rank(snapshot, &*analyzer(snapshot)?, &ask)?;
    if restricts && found_any {
        total = ranked.hits.len() as u64;
    }
    Ok((ranked, total))
}

/// Returns a search whose hits have the form of similar documents.
fn as_search(request: &SimilarRequest) -> SearchRequest {
    SearchRequest {
        index_uid: request.index_uid.clone(),
        q: None,
        paging: Paging::Offset { offset: request.offset, limit: request.limit },
        attributes_to_retrieve: request.attributes_to_retrieve.clone(),
        attributes_to_crop: None,
        crop_length: 10,
        crop_marker: "…".to_owned(),
        attributes_to_highlight: None,
        highlight_pre_tag: "<em>".to_owned(),
        highlight_post_tag: "</em>".to_owned(),
        show_matches_position: false,
        filter: serde_json::Value::Null,
        sort: None,
        distinct: None,
        facets: None,
        matching_strategy: None,
        attributes_to_search_on: None,
        ranking_score_threshold: None,
        locales: None,
        hybrid: None,
        vector: None,
        embedding_ms: None,
        retrieve_vectors: request.retrieve_vectors,
        show_ranking_score: request.show_ranking_score,
        show_ranking_score_details: request.show_ranking_score_details,
        show_performance_details: false,
        features: request.features,
        foreign_keys: None,
        request_uid: String::new(),
        metadata: None,
        pins: Vec::new(),
        scales: Vec::new(),
        only: None,
        answer_bytes_max: None,
    }
}
