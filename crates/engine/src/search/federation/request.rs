use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::search::request::Paging;

/// Configures the merge of several searches. Source: `ts/engine/requests.ts`.
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
    /// Query → its position in the request, for display in hits.
    pub positions: Vec<usize>,
    /// The instance shown as the origin of hits; `None` to omit it.
    pub origin: Option<Origin>,
    /// True if hits include the values they are compared by.
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
