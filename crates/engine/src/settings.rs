//! The settings of an index.
//!
//! They have the shape of `ts/settings/index-settings.ts`, which validates and completes them first; nothing is checked
//! again here. The JSON text is kept and returned unchanged.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{Context, Result};

/// Complete settings of an index.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// `*` means all.
    pub displayed_attributes: Vec<String>,
    /// `*` means all, in order of first appearance.
    pub searchable_attributes: Vec<String>,
    /// The first matching rule counts.
    pub filterable_attributes: Vec<FilterableRule>,
    /// A field includes the fields nested in it.
    pub sortable_attributes: Vec<String>,
    /// In order of importance.
    pub ranking_rules: Vec<String>,
    /// Compared before lower-casing.
    pub stop_words: Vec<String>,
    /// Removed from the default separators.
    pub non_separator_tokens: Vec<String>,
    /// Added to the default separators.
    pub separator_tokens: Vec<String>,
    /// Words that are never split.
    pub dictionary: Vec<String>,
    /// Phrase → phrases that may stand for it.
    pub synonyms: BTreeMap<String, Vec<String>>,
    /// At most one hit per value of this attribute.
    pub distinct_attribute: Option<String>,
    /// Precision of proximity.
    pub proximity_precision: ProximityPrecision,
    /// Rules for typos.
    pub typo_tolerance: TypoTolerance,
    /// How facet values are listed.
    pub faceting: Faceting,
    /// Limit of paging.
    pub pagination: Pagination,
    /// Name → settings of the embedder.
    pub embedders: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
    /// Defaults to [`DEFAULT_CUTOFF_MS`].
    pub search_cutoff_ms: Option<u64>,
    /// The first matching rule counts.
    pub localized_attributes: Option<Vec<LocalizedRule>>,
    /// True if facet values can be searched.
    pub facet_search: bool,
    /// Tells if the last word may be unfinished.
    pub prefix_search: PrefixSearch,
    /// Weights of attributes in the rule `relevance`.
    pub attribute_weights: BTreeMap<String, f64>,
    /// Default of searches.
    pub matching_strategy: MatchingStrategy,
    /// Three-letter codes of the languages whose word forms searches find.
    pub stemming: Vec<String>,
    /// Three-letter codes of the languages whose compounds searches find by their parts.
    pub compounds: Vec<String>,
    /// True if Latin words find the Chinese words that are read so.
    pub pinyin: bool,
    /// Three-letter codes of languages whose stop words searches ignore.
    pub stop_word_lists: Vec<String>,
    /// The JSON text these settings were read from.
    #[serde(skip)]
    pub raw: String,
}

/// Time budget of a search in milliseconds. Source: the customer's settings page.
pub const DEFAULT_CUTOFF_MS: u64 = 1500;

/// A rule for filterable fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum FilterableRule {
    /// This field and the fields nested in it, with every feature.
    Field(String),
    /// Fields that match patterns, with some features.
    #[serde(rename_all = "camelCase")]
    Patterns {
        /// `x`, `x*`, `*x`, `*x*`.
        attribute_patterns: Vec<String>,
        /// Allowed features.
        features: FilterableFeatures,
    },
}

/// Features of a filterable field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FilterableFeatures {
    /// True if its values can be searched.
    pub facet_search: bool,
    /// Allowed operators.
    pub filter: FilterOperators,
}

/// Operators of a filterable field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct FilterOperators {
    /// `=`, `!=`, `IN`.
    pub equality: bool,
    /// `<`, `<=`, `>`, `>=`, `TO`.
    pub comparison: bool,
}

/// Precision of the proximity of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProximityPrecision {
    /// Counts the words in between.
    ByWord,
    /// Only tells if both words are in the same attribute.
    ByAttribute,
}

/// Rules for typos.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TypoTolerance {
    /// If false, no typos are allowed.
    pub enabled: bool,
    /// Minimum word length in characters.
    pub min_word_size_for_typos: MinWordSizeForTypos,
    /// Words that must match exactly.
    pub disable_on_words: Vec<String>,
    /// Fields, including those nested in them, in which words must match exactly.
    pub disable_on_attributes: Vec<String>,
    /// True if numbers must match exactly.
    pub disable_on_numbers: bool,
}

/// Minimum word length for typos, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MinWordSizeForTypos {
    /// For one typo.
    pub one_typo: u8,
    /// For two typos.
    pub two_typos: u8,
}

/// How facet values are listed.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Faceting {
    /// Maximum number of values per facet.
    pub max_values_per_facet: usize,
    /// Field or `*` → order.
    pub sort_facet_values_by: BTreeMap<String, FacetOrder>,
}

/// Order of the values of a facet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FacetOrder {
    /// By value.
    Alpha,
    /// Most frequent first.
    Count,
}

/// Limit of paging.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    /// Later hits cannot be reached.
    pub max_total_hits: usize,
}

/// Languages of fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalizedRule {
    /// `x`, `x*`, `*x`, `*x*`.
    pub attribute_patterns: Vec<String>,
    /// Three-letter codes.
    pub locales: Vec<String>,
}

/// Tells if the last word of a query may be unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixSearch {
    /// It may be.
    IndexingTime,
    /// It may not be.
    Disabled,
}

/// Tells which words of a query may be missing in a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MatchingStrategy {
    /// The last words.
    Last,
    /// No word.
    All,
    /// The most frequent words.
    Frequency,
    /// All words but one, in whatever order.
    Any,
}

impl Settings {
    /// Parses settings from JSON and keeps the text.
    pub fn parse(json: &str) -> Result<Self> {
        let mut settings: Self = serde_json::from_str(json).context("settings of an index do not parse")?;
        settings.raw = json.to_owned();
        Ok(settings)
    }

    /// Returns true if all fields are searchable, in order of first appearance.
    pub fn searches_everything(&self) -> bool {
        self.searchable_attributes.iter().any(|name| name == "*")
    }
}

impl Default for Settings {
    /// Settings of a new index. Source: the customer's settings page.
    fn default() -> Self {
        let all = || vec!["*".to_owned()];
        let rules = ["words", "typo", "proximity", "attributeRank", "sort", "wordPosition", "exactness"];
        Self {
            displayed_attributes: all(),
            searchable_attributes: all(),
            filterable_attributes: Vec::new(),
            sortable_attributes: Vec::new(),
            ranking_rules: rules.map(str::to_owned).to_vec(),
            stop_words: Vec::new(),
            non_separator_tokens: Vec::new(),
            separator_tokens: Vec::new(),
            dictionary: Vec::new(),
            synonyms: BTreeMap::new(),
            distinct_attribute: None,
            proximity_precision: ProximityPrecision::ByWord,
            typo_tolerance: TypoTolerance {
                enabled: true,
                min_word_size_for_typos: MinWordSizeForTypos { one_typo: 5, two_typos: 9 },
                disable_on_words: Vec::new(),
                disable_on_attributes: Vec::new(),
                disable_on_numbers: false,
            },
            faceting: Faceting {
                max_values_per_facet: 100,
                sort_facet_values_by: BTreeMap::from([("*".to_owned(), FacetOrder::Alpha)]),
            },
            pagination: Pagination { max_total_hits: 1000 },
            embedders: BTreeMap::new(),
            search_cutoff_ms: None,
            localized_attributes: None,
            facet_search: true,
            prefix_search: PrefixSearch::IndexingTime,
            attribute_weights: BTreeMap::new(),
            matching_strategy: MatchingStrategy::Last,
            stemming: Vec::new(),
            compounds: Vec::new(),
            pinyin: false,
            stop_word_lists: Vec::new(),
            raw: String::new(),
        }
    }
}
