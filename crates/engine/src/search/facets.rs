//! Facets of a search: the values of its documents, with counts.

use roaring::RoaringBitmap;

use super::bounds::Bounds;
use super::json_writer::{write_display, write_json, write_text};
use crate::error::{Error, Result};
use crate::facets::{COORDINATES, Columns, Distribution};
use crate::fields::{is_same_or_below, matches_pattern};
use crate::filter::{describe_filterable, features_of, uses_geo};
use crate::settings::{FacetOrder, FilterableRule, Settings};
use crate::store::Snapshot;

/// Checks that all fields in `names` can have facets. `names` may contain patterns and parents of fields.
///
/// # Errors
/// `invalid_search_facets`.
pub(super) fn check_facets(snapshot: &Snapshot, index_uid: &str, names: &[String]) -> Result<()> {
    let settings = snapshot.settings();
    for name in names {
        if !settings.filterable_attributes.iter().any(|rule| may_cover(rule, name)) {
            let message = format!(
                "Index `{index_uid}`: Attribute `{name}` is not filterable and has no facets. {}",
                describe_filterable(settings)
            );
            return Err(Error::user("invalid_search_facets", message));
        }
    }
    Ok(())
}

/// Returns true if a field can exist that is covered by a rule and by a request for `wanted`.
fn may_cover(rule: &FilterableRule, wanted: &str) -> bool {
    match rule {
        // A name is taken literally, even `*`.
        FilterableRule::Field(name) => {
            matches_pattern(wanted, name)
                || (wanted.contains('*') && may_share(wanted, &format!("{name}.*")))
                || is_same_or_below(wanted, name)
                || is_same_or_below(name, wanted)
        }
        FilterableRule::Patterns { attribute_patterns, features } => {
            (features.filter.equality || features.filter.comparison)
                && attribute_patterns
                    .iter()
                    .any(|pattern| may_share(wanted, pattern) || may_share(&format!("{wanted}.*"), pattern))
        }
    }
}

/// Returns true if a name can exist that matches both patterns.
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
        // Two fixed prefixes share a name only if the longer begins with the shorter; the same holds for suffixes.
        ((a, Some((false, true))), (b, Some((false, true)))) => a.starts_with(&b) || b.starts_with(&a),
        ((a, Some((true, false))), (b, Some((true, false)))) => a.ends_with(&b) || b.ends_with(&a),
        _ => true,
    }
}

/// Returns the fields of the index covered by a request for `names`, sorted.
pub(super) fn selected_facets<'s>(snapshot: &'s Snapshot, names: &[String]) -> Vec<&'s str> {
    let settings = snapshot.settings();
    let wanted = |field: &&str| {
        names.iter().any(|name| is_same_or_below(name, field) || matches_pattern(name, field))
            && features_of(settings, field)
                .is_some_and(|features| features.filter.equality || features.filter.comparison)
    };
    let coordinates = if uses_geo(settings) { &COORDINATES[..] } else { &[] };
    let names = snapshot.fields().names().chain(coordinates.iter().copied());
    let mut fields: Vec<&str> = names.filter(wanted).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// Returns the order in which values of a field are listed.
pub(super) fn order_of(settings: &Settings, field: &str) -> FacetOrder {
    let orders = &settings.faceting.sort_facet_values_by;
    orders.get(field).or_else(|| orders.get("*")).copied().unwrap_or(FacetOrder::Alpha)
}

/// Counts the values of the fields covered by `names` over `candidates`. Leaves out fields that no document has any more.
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
        let is_known = !found.values.is_empty() || !columns.exists(field)?.is_empty();
        Ok(is_known.then_some((field, found)))
    };
    selected_facets(snapshot, names).into_iter().map(count).filter_map(Result::transpose).collect()
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

/// Writes the minimum and maximum of each field with numbers.
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
