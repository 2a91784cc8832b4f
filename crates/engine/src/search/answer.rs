/// The bytes of an answer, and facts about it for metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// UTF-8 JSON.
    pub body: Vec<u8>,
    /// What the bytes do not say.
    pub facts: Facts,
}

/// Facts about an answer. Source: `SearchFacts` of `ts/engine/engine.ts`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// The search was cut off by its time budget.
    pub degraded: bool,
    /// Something was ruled out with `-`.
    pub used_negative_operator: bool,
    /// Terms of the query, at most 10.
    pub terms: usize,
    /// Hits that came from vectors; None for a search by words alone.
    pub semantic_hits: Option<usize>,
    /// A vector for the query would have been looked at: words alone did not settle it.
    pub lacks_vector: bool,
    /// Hits on the page.
    pub hits: usize,
    /// Of one search: the byte of the body at which the digits of `processingTimeMs` begin.
    pub time_at: Option<usize>,
}
