use std::sync::Arc;

use roaring::RoaringBitmap;

use super::analyzer::analyzer;
use super::answer::{Answer, Facts, write_display, write_json, write_text};
use super::bounds::Bounds;
use super::facet::{check_facets, write_facets};
use super::format::{Formatter, Matching};
use super::hybrid::{merge, words_suffice};
use super::pins::Pins;
use super::project::{Selection, project_plain, top_level};
use super::request::{SearchRequest, decode};
use super::search_deadline::SearchDeadline;
use super::semantic::Kind;
use super::sort::parse_sort;
use crate::error::{Error, Result};
use crate::facets::{Columns, distance};
use crate::filter::{self, Scope, describe_filterable, features_of};
use crate::ranking::{RankRequest, Ranked, RankedHit, ScoreDetail, SortCriterion, rank};
use crate::store::Snapshot;
use crate::vector::shown;

/// Answers a search (`SearchRequest` as UTF-8 JSON).
///
/// # Errors
/// The code of the table for whatever of the request does not suit the index's settings.
pub fn run(
    snapshot: &Snapshot,
    request: &[u8],
    search_deadline: impl Into<SearchDeadline>,
) -> Result<Answer> {
    let request: SearchRequest = decode(request)?;
    let search_deadline = search_deadline.into();
    answer(snapshot, &request, &search_deadline, &Bounds::new(request.answer_bytes_max))
}

/// [`run`] of a request that is decoded.
pub(super) fn answer(
    snapshot: &Snapshot,
    request: &SearchRequest,
    search_deadline: &SearchDeadline,
    bounds: &Bounds,
) -> Result<Answer> {
    let started = search_deadline.started;
    let scored = request.show_ranking_score || request.show_ranking_score_details;
    let found = find(snapshot, request, search_deadline, scored)?;
    let mut body = b"{\"hits\":[".to_vec();
    let mut page = Page::new(snapshot, request, &found, bounds)?;
    for (at, hit) in found.page().iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        page.write_hit(hit, None, &mut body)?;
    }
    body.extend_from_slice(b"],\"query\":");
    write_text(request.q.as_deref().unwrap_or_default(), &mut body);
    if let Some(vector) = found.query_vector(request) {
        body.extend_from_slice(b",\"queryVector\":");
        write_json(&serde_json::json!(vector), &mut body);
    }
    let candidates = &found.ranked.candidates;
    // Facets first: the time they take is part of the answer's.
    let mut facets = Vec::new();
    if let Some(names) = request.facets.as_deref().filter(|names| !names.is_empty()) {
        write_facets(snapshot, names, candidates, bounds, &mut facets)?;
    }
    body.extend_from_slice(b",\"processingTimeMs\":");
    let time_at = Some(body.len());
    write_display(started.elapsed().as_millis(), &mut body);
    let reachable = snapshot.settings().pagination.max_total_hits as u64;
    let total = candidates.len().min(if request.features.legacy_search { reachable } else { u64::MAX });
    request.paging.write(total, &mut body);
    body.append(&mut facets);
    body.extend_from_slice(b",\"requestUid\":");
    write_text(&request.request_uid, &mut body);
    if let Some(metadata) = &request.metadata {
        body.extend_from_slice(b",\"metadata\":");
        body.extend_from_slice(metadata.get().as_bytes());
    }
    if request.show_performance_details {
        body.extend_from_slice(b",\"performanceDetails\":");
        write_json(&serde_json::json!({"search": format!("{:.2?}", started.elapsed())}), &mut body);
    }
    if let Some(hits) = found.semantic_hits() {
        write_display(format_args!(",\"semanticHitCount\":{hits}"), &mut body);
    }
    body.push(b'}');
    bounds.check(body.len())?;
    Ok(Answer { body, facts: Facts { time_at, ..found.facts() } })
}

/// The documents that answer a request, and the criteria they were sorted by.
pub(super) struct Found {
    pub ranked: Ranked,
    pub sort: Vec<SortCriterion>,
    /// Hits that came by meaning; None for a search by words alone.
    semantic: Option<RoaringBitmap>,
    /// Whether vectors were looked at.
    compared_vectors: bool,
    /// A vector would have been looked at.
    lacks_vector: bool,
    window: std::ops::Range<usize>,
}

impl Found {
    /// So many hits after so many, all found by meaning.
    pub fn of_page(ranked: Ranked, offset: usize, limit: usize) -> Self {
        let semantic = Some(ranked.candidates.clone());
        let window = offset..offset.saturating_add(limit);
        Self { ranked, sort: Vec::new(), semantic, compared_vectors: true, lacks_vector: false, window }
    }

    /// The vector that documents were compared with, where the request wants to see vectors.
    pub fn query_vector<'r>(&self, request: &'r SearchRequest) -> Option<&'r [f32]> {
        let shown = self.compared_vectors && request.retrieve_vectors;
        request.vector.as_deref().filter(|_| shown)
    }

    /// Hits shown that came by meaning; None for a search by words alone.
    pub fn semantic_hits(&self) -> Option<usize> {
        let semantic = self.semantic.as_ref()?;
        Some(self.page().iter().filter(|hit| semantic.contains(hit.docid)).count())
    }

    /// The hits shown.
    pub fn page(&self) -> &[RankedHit] {
        let len = self.ranked.hits.len();
        &self.ranked.hits[self.window.start.min(len)..self.window.end.min(len)]
    }

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

/// Selects and ranks the documents of a request. `scored`: the answer shows scores, or merges by them.
pub(super) fn find(
    snapshot: &Snapshot,
    request: &SearchRequest,
    search_deadline: &SearchDeadline,
    scored: bool,
) -> Result<Found> {
    let settings = snapshot.settings();
    let kind = Kind::of(snapshot, request)?;
    let scope = scope_of(request, search_deadline);
    let sort = match &request.sort {
        Some(sort) => {
            let code = "invalid_search_sort";
            let sort = parse_sort(sort, settings, code, Some(&request.index_uid))?;
            if !sort.is_empty() && !settings.ranking_rules.iter().any(|rule| rule == "sort") {
                let message = format!(
                    "index `{}`: sorting needs the ranking rule `sort`, which is not among `rankingRules`",
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
    let mut universe = filter::passing(snapshot, &request.filter, &scope)?;
    let reachable = settings.pagination.max_total_hits;
    let window = request.paging.window(reachable);
    let exhaustive = request.paging.is_exhaustive();
    // A threshold is known to hold only for documents that were ranked.
    let all_ranked = exhaustive && request.ranking_score_threshold.is_some();
    let wanted = if all_ranked { reachable } else { window.end };
    let analyzer = analyzer(snapshot)?;
    let distinct = request.distinct.as_deref().or(settings.distinct_attribute.as_deref());
    let pins = Pins::take(snapshot, &request.pins, distinct, &mut universe)?;
    let ask = RankRequest {
        q: request.q.as_deref(),
        universe,
        strategy: request.matching_strategy.into(),
        search_on: request.attributes_to_search_on.as_deref(),
        locales: request.locales.as_deref(),
        sort: &sort,
        distinct,
        threshold: request.ranking_score_threshold,
        wanted,
        exhaustive,
        vector: None,
        deadline: search_deadline.deadline(snapshot),
        // Lists are merged by their scores.
        scored: scored || matches!(kind, Kind::Both { .. } | Kind::Words { lacking: Some(_) }),
    };
    let made = |ranked, semantic, compared_vectors| Found {
        ranked,
        sort: sort.clone(),
        semantic,
        compared_vectors,
        lacks_vector: false,
        window: window.clone(),
    };
    let mut found = match kind {
        Kind::Words { lacking } => {
            let by_words = rank(snapshot, &analyzer, &ask)?;
            let lacks_vector = lacking.is_some_and(|ratio| !words_suffice(&by_words.hits, window.end, ratio));
            let semantic = lacking.map(|_| RoaringBitmap::new());
            Found { lacks_vector, ..made(by_words, semantic, false) }
        }
        Kind::Meaning(nearest) => {
            let ranked = rank(snapshot, &analyzer, &RankRequest { vector: Some(nearest), ..ask })?;
            let semantic = ranked.candidates.clone();
            made(ranked, Some(semantic), true)
        }
        Kind::Both { nearest, ratio } => {
            let by_words = rank(snapshot, &analyzer, &ask)?;
            if words_suffice(&by_words.hits, window.end, ratio) {
                made(by_words, Some(RoaringBitmap::new()), false)
            } else {
                let by_meaning =
                    rank(snapshot, &analyzer, &RankRequest { vector: Some(nearest), ..ask.clone() })?;
                let (ranked, semantic) = merge(snapshot, by_words, by_meaning, ratio, wanted, ask.distinct)?;
                made(ranked, Some(semantic), true)
            }
        }
    };
    pins.place(&mut found.ranked, wanted);
    Ok(found)
}

fn scope_of<'a>(request: &'a SearchRequest, search_deadline: &'a SearchDeadline) -> Scope<'a> {
    Scope {
        code: "invalid_search_filter",
        index_uid: Some(&request.index_uid),
        features: request.features,
        stop: search_deadline.stop(),
    }
}

/// Whether documents can be told apart by `attribute`.
pub(super) fn check_distinct(snapshot: &Snapshot, index_uid: &str, attribute: &str) -> Result<()> {
    let settings = snapshot.settings();
    let filterable = features_of(settings, attribute)
        .is_some_and(|features| features.filter.equality || features.filter.comparison);
    if filterable {
        return Ok(());
    }
    let message = format!(
        "index `{index_uid}`: attribute `{attribute}` is not filterable and cannot be used as `distinct`; {}",
        describe_filterable(settings)
    );
    Err(Error::user("invalid_search_distinct", message))
}

/// Writes the hits of one request.
pub(super) struct Page<'a> {
    snapshot: &'a Snapshot,
    request: &'a SearchRequest,
    sort: &'a [SortCriterion],
    columns: Columns,
    displayed: Selection,
    retrieved: Selection,
    formatter: Formatter<'a>,
    bounds: &'a Bounds,
}

/// Never shown unless asked for.
const HIDDEN: [&str; 1] = ["_vectors"];

impl<'a> Page<'a> {
    pub fn new(
        snapshot: &'a Snapshot,
        request: &'a SearchRequest,
        found: &'a Found,
        bounds: &'a Bounds,
    ) -> Result<Self> {
        let displayed = Selection::of(&snapshot.settings().displayed_attributes);
        let retrieved = match &request.attributes_to_retrieve {
            Some(names) => Selection::of(names).and(&displayed),
            None => displayed.clone(),
        };
        let columns = Columns::new(snapshot);
        let matching = Matching::new(found.ranked.highlight_terms.clone());
        let analyzer = analyzer(snapshot)?;
        let formatter = Formatter::new(request, &analyzer, matching, &displayed, &retrieved, &columns)
            .within(bounds.bytes_left());
        Ok(Self { snapshot, request, sort: &found.sort, columns, displayed, retrieved, formatter, bounds })
    }

    /// Writes one hit. `federation`: where it comes from, if it is one of several queries.
    pub fn write_hit(
        &mut self,
        hit: &RankedHit,
        federation: Option<&serde_json::Value>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.bounds.check(out.len())?;
        let source = source_of(self.snapshot, hit.docid)?;
        project_plain(&source, &self.retrieved, &HIDDEN, out);
        // What follows goes inside the document's braces.
        out.pop();
        let mut members = Members { first: out.last() == Some(&b'{') };
        if self.request.retrieve_vectors && self.shows_vectors() {
            members.begin("_vectors", out);
            write_json(&shown(self.snapshot, hit.docid, top_level(&source, "_vectors"))?, out);
        }
        if let Some(metres) = self.geo_distance(hit.docid)? {
            members.begin("_geoDistance", out);
            write_display(metres, out);
        }
        // Source: recorded answers. A formatted copy of everything holds stored vectors, whatever else is asked.
        let unformatted: &[&str] = if self.retrieved == Selection::All { &[] } else { &HIDDEN };
        let mut formatted = Vec::new();
        if self.formatter.write_formatted(&source, unformatted, &mut formatted) {
            members.begin("_formatted", out);
            self.bounds.check(out.len() + formatted.len())?;
            out.append(&mut formatted);
        }
        if self.request.show_matches_position {
            members.begin("_matchesPosition", out);
            self.formatter.write_positions(&source, unformatted, out);
            self.bounds.check(out.len())?;
        }
        if let Some(federation) = federation {
            members.begin("_federation", out);
            write_json(federation, out);
        }
        if self.request.show_ranking_score {
            members.begin("_rankingScore", out);
            write_json(&hit.score(), out);
        }
        if self.request.show_ranking_score_details {
            members.begin("_rankingScoreDetails", out);
            write_json(&ScoreDetail::render(&hit.scores, |path| self.displayed.covers(path)), out);
        }
        out.push(b'}');
        Ok(())
    }

    /// Quirk of the reference: a list that names `_vectors` hides them.
    fn shows_vectors(&self) -> bool {
        match &self.displayed {
            Selection::All => true,
            Selection::Paths(paths) => {
                let named = paths.iter().any(|path| path == "_vectors");
                named != self.columns.knows("_vectors")
            }
        }
    }

    /// Whole metres from the first point of `sort`, if the hit shows where it is.
    fn geo_distance(&self, docid: u32) -> Result<Option<u64>> {
        let origin = self.sort.iter().find_map(|criterion| match criterion {
            SortCriterion::Geo { origin, .. } => Some(*origin),
            SortCriterion::Field { .. } => None,
        });
        let Some(origin) = origin.filter(|_| self.retrieved.meets("_geo")) else { return Ok(None) };
        let places = self.columns.places(&RoaringBitmap::from([docid]))?;
        Ok(places.first().map(|(_, place)| distance(origin, *place).round() as u64))
    }
}

/// Writes the names of an object's members, with commas where they belong.
pub(super) struct Members {
    /// Whether nothing was written yet.
    pub first: bool,
}

impl Members {
    pub fn begin(&mut self, name: &str, out: &mut Vec<u8>) {
        if !self.first {
            out.push(b',');
        }
        self.first = false;
        write_text(name, out);
        out.push(b':');
    }
}

/// A stored document's text.
pub(super) fn source_of(snapshot: &Snapshot, docid: u32) -> Result<Arc<str>> {
    let text = snapshot.shown(docid)?;
    text.ok_or_else(|| Error::internal("a ranked document is gone", format!("docid {docid}")))
}
