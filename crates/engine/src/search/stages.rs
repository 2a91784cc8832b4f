//! Measures the stages of a search for `showPerformanceDetails`. Source: http-api §8.

use std::fmt::{Display, Formatter};
use std::time::{Duration, Instant};

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::json_writer::write_json;

/// A stage of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Waiting for a free search thread.
    Queue,
    /// Waiting for the vector of the query.
    EmbedQuery,
    EvaluateFilter,
    KeywordRanking,
    SemanticRanking,
    MergeResults,
    Format,
    Facets,
}

impl Display for Stage {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Queue => "wait in queue",
            Self::EmbedQuery => "search > embed query",
            Self::EvaluateFilter => "search > evaluate filter",
            Self::KeywordRanking => "search > keyword ranking",
            Self::SemanticRanking => "search > semantic ranking",
            Self::MergeResults => "search > merge results",
            Self::Format => "search > format",
            Self::Facets => "search > facet distribution",
        })
    }
}

/// The finished stages of a search, in the order in which they first ended. Empty if not requested.
#[derive(Debug)]
pub(super) struct Stages {
    is_asked: bool,
    started: Instant,
    /// End of the latest stage.
    latest: Instant,
    times: Vec<(Stage, Duration)>,
}

impl Stages {
    /// The stages of a search that was requested at `started` and has waited for a thread until now.
    pub fn new(is_asked: bool, started: Instant, embedding: Option<Duration>) -> Self {
        let mut stages = Self { is_asked, started, latest: started, times: Vec::new() };
        stages.end(Stage::Queue);
        if let Some(time) = embedding {
            stages.add(Stage::EmbedQuery, time);
        }
        stages
    }

    /// Ends a stage that began at the end of the previous one.
    pub fn end(&mut self, stage: Stage) {
        if !self.is_asked {
            return;
        }
        let now = Instant::now();
        self.add(stage, now - self.latest);
        self.latest = now;
    }

    /// Adds the stages of a query of a federated search, except the shared time in the queue.
    pub fn include(&mut self, query: &Self) {
        for &(stage, time) in query.times.iter().filter(|(stage, _)| *stage != Stage::Queue) {
            self.add(stage, time);
        }
        self.latest = Instant::now();
    }

    fn add(&mut self, stage: Stage, time: Duration) {
        match self.times.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, sum)) => *sum += time,
            None => self.times.push((stage, time)),
        }
    }

    /// Writes the member `performanceDetails`, after a comma: the time of each stage and in total, as text.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"performanceDetails\":");
        write_json(self, out);
    }
}

impl Serialize for Stages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.times.len() + 1))?;
        for (stage, time) in &self.times {
            map.serialize_entry(&stage.to_string(), &format!("{time:.2?}"))?;
        }
        let embedding = self.times.iter().find(|(stage, _)| *stage == Stage::EmbedQuery);
        let total = self.started.elapsed() + embedding.map_or(Duration::ZERO, |(_, time)| *time);
        map.serialize_entry("search", &format!("{total:.2?}"))?;
        map.end()
    }
}
