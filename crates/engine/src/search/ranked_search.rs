//! Selects and ranks the documents of a search.

use std::sync::Arc;
use std::time::Duration;

use roaring::RoaringBitmap;

use super::analyzer::analyzer;
use super::answer::Facts;
use super::facets::check_facets;
use super::hybrid::{merge, words_suffice};
use super::pins::Pins;
use super::request::SearchRequest;
use super::scaling::Scaling;
use super::search_deadline::SearchDeadline;
use super::semantic::SearchKind;
use super::sort_request::parse_sort;
use super::stages::{Stage, Stages};
use crate::error::{Error, Result};
use crate::filter::{self, Foreign, ForeignIndexes, Scope, describe_filterable, features_of};
use crate::query::SEARCH_ON_CODE;
use crate::ranking::{RankRequest, Ranked, RankedHit, SortCriterion};
use crate::store::Snapshot;

/// The ranked documents of a request and their sort criteria.
pub(super) struct RankedSearch {
    pub ranked: Ranked,
    pub sort: Vec<SortCriterion>,
    /// True if the search used vectors only.
    pub only_meaning: bool,
    /// Documents found by vectors; `None` for a search by words alone.
    semantic: Option<RoaringBitmap>,
    /// True if vectors were compared.
    compared_vectors: bool,
    /// True if a query vector is missing that the page would need: words alone did not suffice.
    lacks_vector: bool,
    window: std::ops::Range<usize>,
    pub stages: Stages,
}

impl RankedSearch {
    /// A page of hits that were all found by vectors: `limit` hits after `offset`.
    pub fn of_page(ranked: Ranked, offset: usize, limit: usize, stages: Stages) -> Self {
        let semantic = Some(ranked.candidates.clone());
        let window = offset..offset.saturating_add(limit);
        Self {
            ranked,
            sort: Vec::new(),
            only_meaning: true,
            semantic,
            compared_vectors: true,
            lacks_vector: false,
            window,
            stages,
        }
    }

    /// Returns the query vector that was compared, if the request asks for vectors.
    pub fn query_vector<'r>(&self, request: &'r SearchRequest) -> Option<&'r [f32]> {
        let shown = self.compared_vectors && request.retrieve_vectors;
        request.vector.as_deref().filter(|_| shown)
    }

    /// Returns the number of hits on the page found by vectors; `None` for a search by words alone.
    pub fn semantic_hits(&self) -> Option<usize> {
        let semantic = self.semantic.as_ref()?;
        Some(self.page().iter().filter(|hit| semantic.contains(hit.docid)).count())
    }

    /// Returns true if a document was found by vectors; `None` for a search by words alone.
    pub fn came_by_meaning(&self, docid: u32) -> Option<bool> {
        self.semantic.as_ref().map(|semantic| semantic.contains(docid))
    }

    /// The hits of the page.
    pub fn page(&self) -> &[RankedHit] {
        let len = self.ranked.hits.len();
        &self.ranked.hits[self.window.start.min(len)..self.window.end.min(len)]
    }

    /// Returns the facts of an answer with this page.
    pub fn facts(&self) -> Facts {
        Facts {
            degraded: self.ranked.degraded,
            used_negative_operator: self.ranked.used_negative_operator,
            terms: self.ranked.terms,
            semantic_hits: self.semantic_hits(),
            lacks_vector: self.lacks_vector,
            hits: self.page().len(),
            time_at: None,
        }
    }
}

/// Selects and ranks the documents of a request. `scored`: scores are shown, or hits are merged by them.
pub(super) fn rank_search(
    snapshot: &Snapshot,
    request: &SearchRequest,
    scope: &Scope<'_>,
    search_deadline: &SearchDeadline,
    scored: bool,
) -> Result<RankedSearch> {
    let embedding = request.embedding_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok());
    let mut stages = Stages::new(request.show_performance_details, search_deadline.started, embedding);
    let settings = snapshot.settings();
    let kind = SearchKind::of(snapshot, request)?;
    let sort = match &request.sort {
        Some(sort) => {
            let code = "invalid_search_sort";
            let sort = parse_sort(sort, settings, code, Some(&request.index_uid))?;
            if !sort.is_empty() && !settings.ranking_rules.iter().any(|rule| rule == "sort") {
                let message = format!(
                    "Index `{}`: sorting needs the ranking rule `sort`, which is not among `rankingRules`",
                    request.index_uid
                );
                return Err(Error::user(code, message));
            }
            sort
        }
        None => Vec::new(),
    };
    if let Some(distinct) = &request.distinct {
        check_distinct(snapshot, &request.index_uid, distinct)?;
    }
    check_facets(snapshot, &request.index_uid, request.facets.as_deref().unwrap_or_default())?;
    let mut universe = filter::passing(snapshot, &request.filter, scope)?;
    if let Some(id) = &request.only {
        let only: RoaringBitmap = snapshot.docid_of(id)?.into_iter().collect();
        universe = Arc::new(&*universe & only);
    }
    let reachable = settings.pagination.max_total_hits;
    let window = request.paging.window(reachable);
    let exhaustive = request.paging.is_exhaustive();
    // Only ranking shows which documents reach the threshold, so an exact total needs all of them ranked.
    let all_ranked = exhaustive && request.ranking_score_threshold.is_some();
    let wanted = if all_ranked { reachable } else { window.end };
    let analyzer = analyzer(snapshot)?;
    let distinct = distinct_of(snapshot, request);
    let scaling = Scaling::of(snapshot, &request.scales, &universe, scope)?;
    let pins = Pins::take(snapshot, &request.pins, distinct, &mut universe)?;
    if !scaling.hidden.is_empty() {
        *Arc::make_mut(&mut universe) -= &scaling.hidden;
    }
    let ask = RankRequest {
        q: request.q.as_deref(),
        universe,
        strategy: request.matching_strategy.unwrap_or(snapshot.settings().matching_strategy),
        search_on: request.attributes_to_search_on.as_deref(),
        locales: request.locales.as_deref(),
        sort: &sort,
        distinct,
        threshold: request.ranking_score_threshold,
        wanted,
        exhaustive,
        vector: None,
        only_by_vector: false,
        deadline: search_deadline.deadline(snapshot),
        // Hits by words and hits by vectors are merged by their scores.
        scored: scored
            || scaling.needs_scores()
            || matches!(kind, SearchKind::Both { .. } | SearchKind::Words { missing_ratio: Some(_) }),
    };
    stages.end(Stage::EvaluateFilter);
    let only_meaning = matches!(kind, SearchKind::Meaning(_));
    let mut ranked_by = |stage: Stage, ask: &RankRequest<'_>| {
        let ranked = scaling.rank(snapshot, &analyzer, ask);
        let ranked = ranked.map_err(|error| error.naming_index(SEARCH_ON_CODE, &request.index_uid))?;
        stages.end(stage);
        Ok::<Ranked, Error>(ranked)
    };
    let (ranked, semantic, compared_vectors, lacks_vector) = match kind {
        SearchKind::Words { missing_ratio } => {
            let by_words = ranked_by(Stage::KeywordRanking, &ask)?;
            let lacks_vector =
                missing_ratio.is_some_and(|ratio| !words_suffice(&by_words.hits, window.end, ratio));
            (by_words, missing_ratio.map(|_| RoaringBitmap::new()), false, lacks_vector)
        }
        SearchKind::Meaning(nearest) => {
            let ask = RankRequest { vector: Some(nearest), ..ask };
            let by_meaning = ranked_by(Stage::SemanticRanking, &ask)?;
            let semantic = by_meaning.candidates.clone();
            (by_meaning, Some(semantic), true, false)
        }
        SearchKind::Both { nearest, ratio } => {
            let by_words = ranked_by(Stage::KeywordRanking, &ask)?;
            if words_suffice(&by_words.hits, window.end, ratio) {
                (by_words, Some(RoaringBitmap::new()), false, false)
            } else {
                let ask = RankRequest { vector: Some(nearest), ..ask };
                let by_meaning = ranked_by(Stage::SemanticRanking, &ask)?;
                let (merged, semantic) = merge(snapshot, by_words, by_meaning, ratio, wanted, ask.distinct)?;
                stages.end(Stage::MergeResults);
                (merged, Some(semantic), true, false)
            }
        }
    };
    let mut found =
        RankedSearch { ranked, sort, only_meaning, semantic, compared_vectors, lacks_vector, window, stages };
    pins.insert_into(&mut found.ranked, wanted);
    Ok(found)
}

/// Returns the distinct attribute of a search, if any.
pub(super) fn distinct_of<'a>(snapshot: &'a Snapshot, request: &'a SearchRequest) -> Option<&'a str> {
    request.distinct.as_deref().or(snapshot.settings().distinct_attribute.as_deref())
}

/// Returns the scope of a search's filter: error code, deadline and readable indexes.
pub(super) fn scope_of<'a>(
    request: &'a SearchRequest,
    search_deadline: &'a SearchDeadline,
    indexes: &'a ForeignIndexes<'a>,
) -> Scope<'a> {
    Scope {
        code: "invalid_search_filter",
        index_uid: Some(&request.index_uid),
        features: request.features,
        stop: search_deadline.stop(),
        until: None,
        foreign: request.foreign_keys.as_deref().map(|keys| Foreign { keys, indexes }),
    }
}

/// # Errors
/// `invalid_search_distinct` if `attribute` is not filterable.
fn check_distinct(snapshot: &Snapshot, index_uid: &str, attribute: &str) -> Result<()> {
    let settings = snapshot.settings();
    let filterable = features_of(settings, attribute)
        .is_some_and(|features| features.filter.equality || features.filter.comparison);
    if filterable {
        return Ok(());
    }
    let message = format!(
        "Index `{index_uid}`: Attribute `{attribute}` is not filterable and cannot be used as `distinct`. {}",
        describe_filterable(settings)
    );
    Err(Error::user("invalid_search_distinct", message))
}
