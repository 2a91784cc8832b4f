use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::search::request::Paging;

/// How several searches are merged. Source: `ts/engine/requests.ts`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Federation {
    pub paging: Paging,
    pub facets_by_index: BTreeMap<String, Option<Vec<String>>>,
    pub merge_facets: Option<MergeFacets>,
    pub distinct: Option<String>,
    pub show_performance_details: bool,
    pub request_uid: String,
    #[serde(default)]
    pub metadata: Option<Box<RawValue>>,
    /// Query → weight.
    pub weights: Vec<f64>,
    /// Query → its position as hits show it.
    pub positions: Vec<usize>,
    /// The instance that hits name as their origin; `None` if they name none.
    pub origin: Option<Origin>,
    /// Whether hits show the values that they are compared by.
    pub show_score_values: bool,
    #[serde(default)]
    pub answer_bytes_max: Option<usize>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Origin {
    pub remote: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MergeFacets {
    pub max_values_per_facet: Option<usize>,
}
