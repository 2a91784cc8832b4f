//! The filter operations that the settings allow on a field.

use crate::fields::{is_same_or_below, matches_pattern, shown_names};
use crate::settings::{FilterOperators, FilterableFeatures, FilterableRule, Settings};

/// Features of a field that `filterableAttributes` lists by name.
const EVERYTHING: FilterableFeatures =
    FilterableFeatures { facet_search: true, filter: FilterOperators { equality: true, comparison: true } };

/// Returns the features allowed by the first rule that covers `field`; `None` if no rule covers it.
pub fn features_of(settings: &Settings, field: &str) -> Option<FilterableFeatures> {
    settings.filterable_attributes.iter().find_map(|rule| match rule {
        FilterableRule::Field(name) => is_same_or_below(name, field).then_some(EVERYTHING),
        FilterableRule::Patterns { attribute_patterns, features } => {
            attribute_patterns.iter().any(|pattern| matches_pattern(pattern, field)).then_some(*features)
        }
    })
}

/// Returns true if documents can be filtered by the points or shapes in `field`, `_geo` or `_geojson`. Patterns do not
/// allow it.
pub fn is_geo_filterable(settings: &Settings, field: &str) -> bool {
    settings
        .filterable_attributes
        .iter()
        .any(|rule| matches!(rule, FilterableRule::Field(name) if name == field))
}

/// Returns true if `_geo` is read from documents: it is filterable or sortable.
pub fn uses_geo(settings: &Settings) -> bool {
    is_geo_filterable(settings, "_geo")
        || settings.sortable_attributes.iter().any(|name| is_same_or_below(name, "_geo"))
}

/// Lists the filterable attributes, for the end of a message.
pub fn describe_filterable(settings: &Settings) -> String {
    describe(settings, "filterable", |_| true)
}

/// Lists the attributes whose values can be searched, for the end of a message.
pub fn describe_facet_searchable(settings: &Settings) -> String {
    describe(settings, "facet-searchable", |rule| match rule {
        FilterableRule::Field(_) => true,
        FilterableRule::Patterns { features, .. } => features.facet_search,
    })
}

fn describe(settings: &Settings, kind: &str, is_listed: impl Fn(&FilterableRule) -> bool) -> String {
    let listed = settings.filterable_attributes.iter().filter(|rule| is_listed(rule));
    let names = listed.flat_map(|rule| match rule {
        FilterableRule::Field(name) => std::slice::from_ref(name),
        FilterableRule::Patterns { attribute_patterns, .. } => attribute_patterns,
    });
    let names = shown_names(settings, names.map(String::as_str));
    if names.is_empty() {
        return format!("This index does not have configured {kind} attributes.");
    }
    format!("Available {kind} attribute patterns are: `{}`.", names.join("`, `"))
}
