//! The cost of a change of settings: the data that has to be written again.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::fields::is_same_or_below;
use crate::filter::features_of;
use crate::settings::Settings;

/// Cost of a change of settings, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Cost {
    /// A commit that changes no document.
    Metadata,
    /// A commit that changes no document. Missing deferred columns are built from stored documents.
    #[serde(rename = "columns")]
    DeferredColumns,
    /// Every document is written again, because its texts are split into other words.
    Documents,
}

/// Returns the changed settings that cost more than [`Cost::Metadata`], by their names in the API.
///
/// Settings that are not listed affect queries and results, but not the index.
pub fn costs_of(before: &Settings, after: &Settings) -> BTreeMap<&'static str, Cost> {
    let rows = [
        ("stopWords", before.stop_words != after.stop_words, Cost::Documents),
        ("separatorTokens", before.separator_tokens != after.separator_tokens, Cost::Documents),
        ("nonSeparatorTokens", before.non_separator_tokens != after.non_separator_tokens, Cost::Documents),
        ("dictionary", before.dictionary != after.dictionary, Cost::Documents),
        ("localizedAttributes", before.localized_attributes != after.localized_attributes, Cost::Documents),
        (
            "filterableAttributes",
            before.filterable_attributes != after.filterable_attributes,
            Cost::DeferredColumns,
        ),
        (
            "sortableAttributes",
            before.sortable_attributes != after.sortable_attributes,
            Cost::DeferredColumns,
        ),
        ("distinctAttribute", before.distinct_attribute != after.distinct_attribute, Cost::DeferredColumns),
        ("rankingRules", !custom_rules(before).eq(custom_rules(after)), Cost::DeferredColumns),
    ];
    rows.into_iter().filter(|(_, differs, _)| *differs).map(|(name, _, cost)| (name, cost)).collect()
}

/// Returns the cost of the most expensive changed setting.
pub fn cost_of(before: &Settings, after: &Settings) -> Cost {
    costs_of(before, after).into_values().max().unwrap_or(Cost::Metadata)
}

/// Returns the fields that ranking rules sort by.
fn custom_rules(settings: &Settings) -> impl Iterator<Item = &str> {
    settings
        .ranking_rules
        .iter()
        .filter_map(|rule| rule.strip_suffix(":asc").or_else(|| rule.strip_suffix(":desc")))
}

/// Returns true if a setting uses the column of `path`, so that it has to contain long strings.
pub fn wants_column(settings: &Settings, path: &str) -> bool {
    let mut named = settings
        .sortable_attributes
        .iter()
        .chain(&settings.distinct_attribute)
        .map(String::as_str)
        .chain(custom_rules(settings));
    named.any(|name| is_same_or_below(name, path)) || features_of(settings, path).is_some()
}
