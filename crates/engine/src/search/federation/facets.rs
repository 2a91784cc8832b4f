//! Facets of a federated search: by index, or merged into one distribution.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use roaring::RoaringBitmap;

use super::request::Federation;
use crate::error::{Error, Result};
use crate::facets::{Distribution, Stats};
use crate::search::bounds::Bounds;
use crate::search::facets::{check_facets, distributions, order_of, write_distribution, write_stats};
use crate::search::json_writer::write_text;
use crate::settings::FacetOrder;
use crate::store::Snapshot;

/// A searched index and the documents that its queries found.
pub(super) struct FoundIn {
    pub uid: String,
    pub snapshot: Snapshot,
    pub documents: RoaringBitmap,
    /// Matching documents that share a value of the distinct attribute with a better hit.
    pub merged_away: RoaringBitmap,
}

impl FoundIn {
    /// Computes the distributions of facets. Counts exclude `merged_away`; minimum and maximum include it.
    fn distributions(&self, names: &[String], bounds: &Bounds) -> Result<Vec<(&str, Distribution)>> {
        let max = self.snapshot.settings().faceting.max_values_per_facet;
        let mut facets = distributions(&self.snapshot, names, &self.documents, (max, bounds))?;
        if !self.merged_away.is_empty() {
            let found = &self.documents | &self.merged_away;
            let whole = distributions(&self.snapshot, names, &found, (max, bounds))?;
            for ((_, counted), (_, whole)) in facets.iter_mut().zip(whole) {
                counted.stats = whole.stats;
            }
        }
        Ok(facets)
    }
}

/// Writes the facets requested by `facetsByIndex` and `mergeFacets`, after a comma. Writes nothing if none are
/// requested.
pub(super) fn write(
    found: &mut [FoundIn],
    federation: &Federation,
    bounds: &Bounds,
    out: &mut Vec<u8>,
) -> Result<()> {
    found.sort_by(|a, b| a.uid.cmp(&b.uid));
    let mut asked = Vec::new();
    for one in found.iter() {
        // An empty list gives an empty distribution; null gives none.
        if let Some(names) = federation.facets_by_index.get(&one.uid).and_then(Option::as_deref) {
            check_facets(&one.snapshot, &one.uid, names)?;
            asked.push((one, one.distributions(names, bounds)?));
        }
    }
    if asked.is_empty() {
        return Ok(());
    }
    if let Some(merge) = federation.merge_facets {
        return write_merged(&asked, merge.max_values_per_facet.unwrap_or(usize::MAX), out);
    }
    for (at, (one, facets)) in asked.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b",\"facetsByIndex\":{" } else { b"," });
        write_text(&one.uid, out);
        out.extend_from_slice(b":{\"distribution\":");
        write_distribution(facets, out);
        out.extend_from_slice(b",\"stats\":");
        write_stats(facets, out);
        out.push(b'}');
    }
    out.push(b'}');
    Ok(())
}

/// A facet merged from several indexes.
struct Merging<'a> {
    /// The first index with the facet.
    uid: &'a str,
    order: FacetOrder,
    counts: HashMap<String, u64>,
    stats: Option<Stats>,
}

type Asked<'a> = (&'a FoundIn, Vec<(&'a str, Distribution)>);

fn write_merged(asked: &[Asked], max: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut merging: BTreeMap<&str, Merging> = BTreeMap::new();
    for (one, facets) in asked {
        for (field, distribution) in facets {
            let order = order_of(one.snapshot.settings(), field);
            let known = merging.entry(field).or_insert_with(|| Merging {
                uid: &one.uid,
                order,
                counts: HashMap::new(),
                stats: None,
            });
            if known.order != order {
                return Err(order_conflict(field, (known.uid, known.order), (&one.uid, order)));
            }
            for (value, count) in &distribution.values {
                *known.counts.entry(value.clone()).or_default() += count;
            }
            known.stats = match (known.stats, distribution.stats) {
                (Some(a), Some(b)) => Some(Stats { min: a.min.min(b.min), max: a.max.max(b.max) }),
                (some, none) => some.or(none),
            };
        }
    }
    let facets: Vec<(&str, Distribution)> = merging
        .into_iter()
        .map(|(field, Merging { order, counts, stats, .. })| {
            let mut values: Vec<(String, u64)> = counts.into_iter().collect();
            values.sort_unstable();
            if order == FacetOrder::Count {
                values.sort_by_key(|(_, count)| Reverse(*count));
            }
            values.truncate(max);
            (field, Distribution { values, stats })
        })
        .collect();
    out.extend_from_slice(b",\"facetDistribution\":");
    write_distribution(&facets, out);
    out.extend_from_slice(b",\"facetStats\":");
    write_stats(&facets, out);
    Ok(())
}

fn order_conflict(field: &str, known: (&str, FacetOrder), other: (&str, FacetOrder)) -> Error {
    let name = |order| match order {
        FacetOrder::Alpha => "alpha",
        FacetOrder::Count => "count",
    };
    let message = format!(
        "facet `{field}` is ordered by {} in index `{}` and by {} in index `{}`, so it cannot be merged",
        name(known.1),
        known.0,
        name(other.1),
        other.0
    );
    Error::user("invalid_multi_search_facet_order", message)
}
