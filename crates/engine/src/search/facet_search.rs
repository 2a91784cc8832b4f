//! Searches the values of a facet.

use std::sync::Arc;

use super::analyzer::analyzer;
use super::answer::{Answer, Facts};
use super::bounds::Bounds;
use super::facets::order_of;
use super::json_writer::{write_display, write_json, write_text};
use super::limits::FACET_QUERY_BYTES_MAX;
use super::pins::Pins;
use super::request::{FacetSearchRequest, decode};
use super::scaling::Scaling;
use super::search_deadline::SearchDeadline;
use crate::analysis::{Locales, normalize_facet_search, parse_locales};
use crate::error::{Error, Result};
use crate::facets::{Columns, FacetQuery};
use crate::fields::is_same_or_below;
use crate::filter::{self, Foreign, ForeignIndexes, Indexes, Scope, describe_facet_searchable, features_of};
use crate::query::{QUERY_BYTES_MAX, SEARCH_ON_CODE};
use crate::ranking::RankRequest;
use crate::settings::Settings;
use crate::store::Snapshot;

/// Documents ranked for a facet search: a page. Source: recorded answers.
const RANKED: usize = 20;

/// Builds the search among values for `request`. `locales`: languages of the values. Returns `None` if the text is too
/// long to match any value.
fn facet_query<'l>(
    request: &FacetSearchRequest,
    settings: &Settings,
    locales: Locales<'l>,
) -> Option<FacetQuery<'l>> {
    let asked = request.locales.as_deref().map(parse_locales);
    let of_query = asked.as_deref().or(locales);
    let text = request.facet_query.as_deref().unwrap_or_default();
    if text.len() > QUERY_BYTES_MAX {
        return None;
    }
    let text = normalize_facet_search(text, of_query);
    // The automaton of a longer text would take megabytes.
    if text.len() > FACET_QUERY_BYTES_MAX {
        return None;
    }
    let tolerance = &settings.typo_tolerance;
    let exactly = tolerance.disable_on_words.contains(&text);
    let strict = |attribute: &String| is_same_or_below(attribute, &request.facet_name);
    let forgiving = tolerance.enabled && !exactly && !tolerance.disable_on_attributes.iter().any(strict);
    let sizes = tolerance.min_word_size_for_typos;
    let typos = match text.len() {
        _ if !forgiving => 0,
        bytes if bytes >= usize::from(sizes.two_typos) => 2,
        bytes if bytes >= usize::from(sizes.one_typo) => 1,
        _ => 0,
    };
    Some(FacetQuery { text, typos, prefix: !exactly, locales })
}

/// Answers a search among the values of a facet (`FacetSearchRequest` as UTF-8 JSON). `indexes` resolves foreign keys.
///
/// # Errors
/// `facet_search_disabled`, `invalid_facet_search_facet_name`, and those of the search that selects the documents.
pub fn facet_search(
    snapshot: &Snapshot,
    request: &[u8],
    search_deadline: impl Into<SearchDeadline>,
    indexes: &dyn Indexes,
) -> Result<Answer> {
    let foreign = ForeignIndexes::new(indexes);
    let search_deadline = search_deadline.into();
    let started = search_deadline.started;
    let request: FacetSearchRequest = decode(request)?;
    let settings = snapshot.settings();
    let name = request.facet_name.as_str();
    if !settings.facet_search {
        let message = format!("Index `{}`: facet search is switched off in its settings", request.index_uid);
        return Err(Error::user("facet_search_disabled", message));
    }
    if !features_of(settings, name).is_some_and(|features| features.facet_search) {
        let message = format!(
            "Index `{}`: Attribute `{name}` is not facet-searchable. {}",
            request.index_uid,
            describe_facet_searchable(settings)
        );
        return Err(Error::user("invalid_facet_search_facet_name", message));
    }
    let scope = Scope {
        code: "invalid_search_filter",
        index_uid: Some(&request.index_uid),
        features: request.features,
        stop: search_deadline.stop(),
        until: None,
        foreign: request.foreign_keys.as_deref().map(|keys| Foreign { keys, indexes: &foreign }),
    };
    let bounds = Bounds::new(request.answer_bytes_max);
    let mut universe = filter::passing(snapshot, &request.filter, &scope)?;
    let distinct = settings.distinct_attribute.as_deref();
    let scaling = Scaling::of(snapshot, &request.scales, &universe, &scope)?;
    let pins = Pins::take(snapshot, &request.pins, distinct, &mut universe)?;
    if !scaling.hidden.is_empty() {
        *Arc::make_mut(&mut universe) -= &scaling.hidden;
    }
    let by_vector = request.hybrid.as_ref().is_some_and(|hybrid| hybrid.semantic_ratio > 0.0);
    let analyzer = analyzer(snapshot)?;
    let threshold = request.ranking_score_threshold;
    // Counts equal those of a search: documents are ranked to find those that `distinct` and a threshold exclude.
    let wanted = match (threshold, distinct) {
        (Some(_), _) if request.exhaustive_facet_count => settings.pagination.max_total_hits,
        (None, None) => 0,
        _ => RANKED,
    };
    let ranked = scaling.rank(
        snapshot,
        &analyzer,
        &RankRequest {
            q: request.q.as_deref().filter(|_| !by_vector),
            universe,
            strategy: request.matching_strategy.unwrap_or(snapshot.settings().matching_strategy),
            search_on: request.attributes_to_search_on.as_deref(),
            locales: request.locales.as_deref(),
            sort: &[],
            distinct,
            threshold,
            wanted,
            exhaustive: request.exhaustive_facet_count,
            vector: None,
            only_by_vector: false,
            deadline: search_deadline.deadline(snapshot),
            scored: scaling.needs_scores(),
        },
    );
    let mut ranked = ranked.map_err(|error| error.naming_index(SEARCH_ON_CODE, &request.index_uid))?;
    pins.insert_into(&mut ranked, wanted);
    let query = facet_query(&request, settings, analyzer.locales_of(name));
    let max = settings.faceting.max_values_per_facet;
    let order = order_of(settings, name);
    let hits = match query {
        Some(query) => Columns::new(snapshot).facet_search(name, &query, &ranked.candidates, order, max)?,
        None => Vec::new(),
    };

    let mut body = b"{\"facetHits\":[".to_vec();
    for (at, hit) in hits.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        body.extend_from_slice(b"{\"value\":");
        write_text(&hit.value, &mut body);
        write_display(format_args!(",\"count\":{}}}", hit.count), &mut body);
        bounds.check(body.len())?;
    }
    body.extend_from_slice(b"],\"facetQuery\":");
    write_json(&request.facet_query, &mut body);
    write_display(format_args!(",\"processingTimeMs\":{}}}", started.elapsed().as_millis()), &mut body);
    let facts = Facts {
        degraded: ranked.degraded,
        used_negative_operator: ranked.used_negative_operator,
        terms: ranked.terms,
        semantic_hits: None,
        lacks_vector: false,
        hits: hits.len(),
        time_at: None,
    };
    Ok(Answer { body, facts })
}
