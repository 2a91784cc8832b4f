//! Weights of attributes for the ranking rule `relevance`.

use std::collections::BTreeMap;

use crate::fields::is_same_or_below;

/// Returns the weight of the longest name in `weights` that covers the field `path`, otherwise 1.
pub(super) fn attribute_weight(weights: &BTreeMap<String, f64>, path: &str) -> f64 {
    let covering = weights.iter().filter(|(name, _)| is_same_or_below(name, path));
    covering.max_by_key(|(name, _)| name.len()).map_or(1.0, |(_, weight)| *weight)
}
