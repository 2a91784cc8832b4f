//! Here is a change of settings: what has to be written again?

use crate::fields::is_same_or_below;
use crate::filter::features_of;
use crate::settings::Settings;

/// The cost of a change of settings, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// A commit that changes no document.
    Metadata,
    /// A commit that changes no document; deferred columns that the change needs are made from stored documents.
    DeferredColumns,
    /// Every document is written again, because its texts have other words now.
    Documents,
}

/// The cost of the most expensive setting that differs.
///
/// Settings that are not listed change how queries are read and answered, never what is written.
pub fn cost_of(before: &Settings, after: &Settings) -> Cost {
    let rows = [
        (before.stop_words != after.stop_words, Cost::Documents),
        (before.separator_tokens != after.separator_tokens, Cost::Documents),
        (before.non_separator_tokens != after.non_separator_tokens, Cost::Documents),
        (before.dictionary != after.dictionary, Cost::Documents),
        (before.localized_attributes != after.localized_attributes, Cost::Documents),
        (before.filterable_attributes != after.filterable_attributes, Cost::DeferredColumns),
        (before.sortable_attributes != after.sortable_attributes, Cost::DeferredColumns),
        (before.distinct_attribute != after.distinct_attribute, Cost::DeferredColumns),
        (before.ranking_rules != after.ranking_rules, Cost::DeferredColumns),
    ];
    rows.into_iter().filter(|(differs, _)| *differs).map(|(_, cost)| cost).max().unwrap_or(Cost::Metadata)
}

/// Whether a setting uses the column of `path`, so that long strings have to be in it.
pub fn wants_column(settings: &Settings, path: &str) -> bool {
    let custom = settings
        .ranking_rules
        .iter()
        .filter_map(|rule| rule.strip_suffix(":asc").or_else(|| rule.strip_suffix(":desc")));
    let mut named = settings
        .sortable_attributes
        .iter()
        .chain(&settings.distinct_attribute)
        .map(String::as_str)
        .chain(custom);
    named.any(|name| is_same_or_below(name, path)) || features_of(settings, path).is_some()
}
