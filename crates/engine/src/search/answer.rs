/// The bytes of an answer, and facts about it for metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// UTF-8 JSON.
    pub body: Vec<u8>,
    /// Facts that the bytes do not tell.
    pub facts: Facts,
}

/// Facts about an answer. Source: `SearchFacts` of `ts/engine/engine.ts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether the search was cut off by its time budget.
    pub degraded: bool,
    /// Whether the query excludes a word or phrase with `-`.
    pub used_negative_operator: bool,
    /// The number of terms of the query, at most 10.
    pub terms: usize,
    /// The number of hits on the page that came from vectors; `None` for a search by words alone.
    pub semantic_hits: Option<usize>,
    /// Whether a vector of the query is missing: words alone did not settle the page.
    pub lacks_vector: bool,
    /// The number of hits on the page.
    pub hits: usize,
    /// Offset of the digits of `processingTimeMs` in the body; `None` unless the answer is that of a single search.
    pub time_at: Option<usize>,
}
