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

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Self::Queue => "wait in queue",
            Self::EmbedQuery => "embed query",
            Self::EvaluateFilter => "evaluate filter",
            Self::KeywordRanking => "keyword ranking",
            Self::SemanticRanking => "semantic ranking",
            Self::MergeResults => "merge results",
            Self::Format => "format",
            Self::Facets => "facet distribution",
        }
    }
}

/// A stage, and the position of its query in a federated search if it belongs to one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    stage: Stage,
    query: Option<usize>,
}

impl Display for Step {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let name = self.stage.name();
        match (self.stage, self.query) {
            (Stage::Queue, _) => formatter.write_str(name),
            (_, None) => write!(formatter, "search > {name}"),
            (_, Some(query)) => write!(formatter, "search > query {query} > {name}"),
        }
    }
}

/// The finished stages of a search, in the order in which they first ended. Empty if not requested.
#[derive(Debug)]
pub(super) struct Stages {
    is_asked: bool,
    started: Instant,
    /// End of the latest stage.
    latest: Instant,
    times: Vec<(Step, Duration)>,
}

impl Stages {
    /// The stages of a search that was requested at `started` and has waited for a thread until now.
    pub fn new(is_asked: bool, started: Instant, embedding: Option<Duration>) -> Self {
        let mut stages = Self { is_asked, started, latest: started, times: Vec::new() };
        stages.end(Stage::Queue);
        if let Some(time) = embedding {
            stages.add(Step { stage: Stage::EmbedQuery, query: None }, time);
        }
        stages
    }

    /// Ends a stage that began at the end of the previous one.
    pub fn end(&mut self, stage: Stage) {
        if !self.is_asked {
            return;
        }
        let now = Instant::now();
        self.add(Step { stage, query: None }, now - self.latest);
        self.latest = now;
    }

    /// Adds the stages of a query of a federated search, except the shared time in the queue. `position`: of the query
    /// in the request.
    pub fn include(&mut self, query: &Self, position: usize) {
        for &(Step { stage, .. }, time) in &query.times {
            if stage != Stage::Queue {
                self.add(Step { stage, query: Some(position) }, time);
            }
        }
        self.latest = Instant::now();
    }

    fn add(&mut self, step: Step, time: Duration) {
        match self.times.iter_mut().find(|(known, _)| *known == step) {
            Some((_, sum)) => *sum += time,
            None => self.times.push((step, time)),
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
        for (step, time) in &self.times {
            map.serialize_entry(&step.to_string(), &format!("{time:.2?}"))?;
        }
        let embedding = self.times.iter().filter(|(step, _)| step.stage == Stage::EmbedQuery);
        let total = self.started.elapsed() + embedding.map(|(_, time)| *time).sum::<Duration>();
        map.serialize_entry("search", &format!("{total:.2?}"))?;
        map.end()
    }
}
