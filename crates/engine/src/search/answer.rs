/// The bytes of an answer, with facts for metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// UTF-8 JSON.
    pub body: Vec<u8>,
    /// Facts that are not in the bytes.
    pub facts: Facts,
}

/// Facts about an answer. Source: `SearchFacts` of `ts/engine/engine.ts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// True if the search ran out of time.
    pub degraded: bool,
    /// True if the query excludes a word or phrase with `-`.
    pub used_negative_operator: bool,
    /// Number of terms in the query, at most 10.
    pub terms: usize,
    /// Number of hits on the page found by vectors; `None` for a search by words alone.
    pub semantic_hits: Option<usize>,
    /// True if a query vector is missing that the page would need: words alone did not suffice.
    pub lacks_vector: bool,
    /// Number of hits on the page.
    pub hits: usize,
    /// Offset of the digits of `processingTimeMs` in the body; `None` unless the answer is for a single search.
    pub time_at: Option<usize>,
}
