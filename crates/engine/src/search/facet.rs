//! Facets of a result, and search among their values.

use roaring::RoaringBitmap;

use super::analyzer::analyzer;
use super::answer::{Answer, Facts, write_display, write_json, write_text};
use super::bounds::Bounds;
use super::limits::FACET_QUERY_BYTES_MAX;
use super::pins::Pins;
use super::request::{FacetSearchRequest, decode};
use super::search_deadline::SearchDeadline;
use crate::analysis::{Locales, normalize_facet_search, parse_locales};
use crate::error::{Error, Result};
use crate::facets::{Columns, Distribution, FacetQuery};
use crate::fields::{is_same_or_below, matches_pattern};
use crate::filter::{self, Scope, describe_filterable, features_of};
use crate::query::QUERY_BYTES_MAX;
use crate::ranking::{RankRequest, rank};
use crate::settings::{FacetOrder, FilterableRule, Settings};
use crate::store::Snapshot;

/// Documents ranked for a facet search, a page of them. Source: recorded answers.
const RANKED: usize = 20;

/// Whether facets can be had of each of `names`, which may be patterns and parents of fields.
///
/// # Errors
/// `invalid_search_facets`.
pub(super) fn check_facets(snapshot: &Snapshot, index_uid: &str, names: &[String]) -> Result<()> {
    let settings = snapshot.settings();
    for name in names {
        if !settings.filterable_attributes.iter().any(|rule| may_cover(rule, name)) {
            let message = format!(
                "index `{index_uid}`: attribute `{name}` is not filterable and has no facets; {}",
                describe_filterable(settings)
            );
            return Err(Error::user("invalid_search_facets", message));
        }
    }
    Ok(())
}

/// Whether a field can exist that a rule covers and a request for `wanted` means.
fn may_cover(rule: &FilterableRule, wanted: &str) -> bool {
    match rule {
        FilterableRule::Field(name) => {
            may_share(wanted, name)
                || may_share(wanted, &format!("{name}.*"))
                || is_same_or_below(wanted, name)
        }
        FilterableRule::Patterns { attribute_patterns, features } => {
            (features.filter.equality || features.filter.comparison)
                && attribute_patterns
                    .iter()
                    .any(|pattern| may_share(wanted, pattern) || may_share(&format!("{wanted}.*"), pattern))
        }
    }
}

/// Whether a name can exist that fits both patterns.
fn may_share(a: &str, b: &str) -> bool {
    let parts = |pattern: &'_ str| -> (String, Option<(bool, bool)>) {
        let open = (pattern.starts_with('*'), pattern.ends_with('*'));
        let core = pattern.strip_prefix('*').unwrap_or(pattern);
        let core = core.strip_suffix('*').unwrap_or(core);
        (core.to_owned(), (open != (false, false)).then_some(open))
    };
    match (parts(a), parts(b)) {
        ((_, None), _) => matches_pattern(b, a),
        (_, (_, None)) => matches_pattern(a, b),
        // Both are fixed at their beginning, or both at their end: one has to go on from the other.
        ((a, Some((false, true))), (b, Some((false, true)))) => a.starts_with(&b) || b.starts_with(&a),
        ((a, Some((true, false))), (b, Some((true, false)))) => a.ends_with(&b) || b.ends_with(&a),
        _ => true,
    }
}

/// Fields that exist and that a request for `names` means, sorted.
pub(super) fn selected_facets<'s>(snapshot: &'s Snapshot, names: &[String]) -> Vec<&'s str> {
    let settings = snapshot.settings();
    let wanted = |field: &&str| {
        names.iter().any(|name| is_same_or_below(name, field) || matches_pattern(name, field))
            && features_of(settings, field)
                .is_some_and(|features| features.filter.equality || features.filter.comparison)
    };
    let mut fields: Vec<&str> = snapshot.fields().names().filter(wanted).collect();
    fields.sort_unstable();
    fields
}

/// How the values of a field are listed.
pub(super) fn order_of(settings: &Settings, field: &str) -> FacetOrder {
    let orders = &settings.faceting.sort_facet_values_by;
    orders.get(field).or_else(|| orders.get("*")).copied().unwrap_or(FacetOrder::Alpha)
}

/// Values of the fields that `names` means, over `candidates`.
pub(super) fn distributions<'s>(
    snapshot: &'s Snapshot,
    names: &[String],
    candidates: &RoaringBitmap,
    (max, bounds): (usize, &Bounds),
) -> Result<Vec<(&'s str, Distribution)>> {
    let columns = Columns::new(snapshot);
    let mut bytes = 0;
    let count = |field: &'s str| {
        let found = columns.distribution(field, candidates, order_of(snapshot.settings(), field), max)?;
        bytes += field.len() + found.values.iter().map(|(value, _)| value.len()).sum::<usize>();
        bounds.check(bytes)?;
        Ok((field, found))
    };
    selected_facets(snapshot, names).into_iter().map(count).collect()
}

/// Writes `facetDistribution` and `facetStats`, each after a comma.
pub(super) fn write_facets(
    snapshot: &Snapshot,
    names: &[String],
    candidates: &RoaringBitmap,
    bounds: &Bounds,
    out: &mut Vec<u8>,
) -> Result<()> {
    let max = snapshot.settings().faceting.max_values_per_facet;
    let facets = distributions(snapshot, names, candidates, (max, bounds))?;
    out.extend_from_slice(b",\"facetDistribution\":");
    write_distribution(&facets, out);
    out.extend_from_slice(b",\"facetStats\":");
    write_stats(&facets, out);
    Ok(())
}

/// Writes values and counts by field.
pub(super) fn write_distribution(facets: &[(&str, Distribution)], out: &mut Vec<u8>) {
    let mut opening = b'{';
    for (field, distribution) in facets {
        out.push(opening);
        opening = b',';
        write_text(field, out);
        out.push(b':');
        let mut opening = b'{';
        for (value, count) in &distribution.values {
            out.push(opening);
            opening = b',';
            write_text(value, out);
            write_display(format_args!(":{count}"), out);
        }
        out.extend_from_slice(if opening == b'{' { b"{}" } else { b"}" });
    }
    out.extend_from_slice(if opening == b'{' { b"{}" } else { b"}" });
}

/// Writes least and greatest number by field that has any.
pub(super) fn write_stats(facets: &[(&str, Distribution)], out: &mut Vec<u8>) {
    let mut opening = b'{';
    for (field, distribution) in facets {
        let Some(stats) = distribution.stats else { continue };
        out.push(opening);
        opening = b',';
        write_text(field, out);
        out.push(b':');
        write_json(&serde_json::json!({"min": stats.min, "max": stats.max}), out);
    }
    out.extend_from_slice(if opening == b'{' { b"{}" } else { b"}" });
}

/// What `request` looks for among values in the languages `locales`; None: nothing that a value could be.
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
    // An automaton of a longer text takes megabytes.
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

/// Answers a search among the values of a facet (`FacetSearchRequest` as UTF-8 JSON).
///
/// # Errors
/// `facet_search_disabled`, `invalid_facet_search_facet_name`, and those of the search that it counts over.
pub fn facet_search(
    snapshot: &Snapshot,
    request: &[u8],
    search_deadline: impl Into<SearchDeadline>,
) -> Result<Answer> {
    let search_deadline = search_deadline.into();
    let started = search_deadline.started;
    let request: FacetSearchRequest = decode(request)?;
    let settings = snapshot.settings();
    let name = request.facet_name.as_str();
    if !settings.facet_search {
        let message = format!("index `{}`: facet search is switched off in its settings", request.index_uid);
        return Err(Error::user("facet_search_disabled", message));
    }
    if !features_of(settings, name).is_some_and(|features| features.facet_search) {
        let message = format!(
            "index `{}`: attribute `{name}` is not facet-searchable; {}",
            request.index_uid,
            describe_filterable(settings)
        );
        return Err(Error::user("invalid_facet_search_facet_name", message));
    }
    let scope = Scope {
        code: "invalid_search_filter",
        index_uid: Some(&request.index_uid),
        features: request.features,
        stop: search_deadline.stop(),
    };
    let bounds = Bounds::new(request.answer_bytes_max);
    let mut universe = filter::passing(snapshot, &request.filter, &scope)?;
    let distinct = settings.distinct_attribute.as_deref();
    let pins = Pins::take(snapshot, &request.pins, distinct, &mut universe)?;
    let by_vector = request.hybrid.as_ref().is_some_and(|hybrid| hybrid.semantic_ratio > 0.0);
    let analyzer = analyzer(snapshot)?;
    let threshold = request.ranking_score_threshold;
    // Values are counted as a search with a page of its own would count them: what `distinct` and a threshold
    // leave out shows while documents are ranked.
    let wanted = match (threshold, distinct) {
        (Some(_), _) if request.exhaustive_facet_count => settings.pagination.max_total_hits,
        (None, None) => 0,
        _ => RANKED,
    };
    let mut ranked = rank(
        snapshot,
        &analyzer,
        &RankRequest {
            q: request.q.as_deref().filter(|_| !by_vector),
            universe,
            strategy: request.matching_strategy.into(),
            search_on: request.attributes_to_search_on.as_deref(),
            locales: request.locales.as_deref(),
            sort: &[],
            distinct,
            threshold,
            wanted,
            exhaustive: request.exhaustive_facet_count,
            vector: None,
            deadline: search_deadline.deadline(snapshot),
            scored: false,
        },
    )?;
    pins.place(&mut ranked, wanted);
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
