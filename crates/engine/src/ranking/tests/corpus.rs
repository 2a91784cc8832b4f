//! Small indexes for the tests of this module, built without the write path.

use std::sync::Arc;
use std::time::{Duration, Instant};

use roaring::RoaringBitmap;
use serde_json::Value;

use crate::analysis::Analyzer;
use crate::error::Result;
use crate::fields::FieldMap;
use crate::indexing::document_for_tests;
use crate::postings::Budget;
use crate::ranking::rank::rank_within;
use crate::ranking::{MatchingStrategy, RankRequest, Ranked, SortCriterion, rank};
use crate::settings::Settings;
use crate::store::{SegmentBuilder, SegmentView, Snapshot, SnapshotParts};

/// Texts with both words of the query `amber stone`, near and far, misspelt, and with one of them only.
pub(super) const AMBER_STONES: [&str; 7] = [
    "amber stone shop",
    "stone amber shop",
    "amber bowl with stone",
    "amber shop",
    "ambers and stones",
    "ambr stone",
    "stone",
];

/// The same documents in several segment layouts. Ranking must give equal results for all.
pub(super) struct Corpus {
    layouts: Vec<(&'static str, Snapshot)>,
    analyzer: Analyzer,
}

/// A search with its options.
#[derive(Clone)]
pub(super) struct Ask<'a> {
    pub(super) q: &'a str,
    pub(super) strategy: MatchingStrategy,
    pub(super) search_on: Option<Vec<String>>,
    pub(super) sort: Vec<SortCriterion>,
    pub(super) distinct: Option<&'a str>,
    pub(super) threshold: Option<f64>,
    pub(super) limit: usize,
    pub(super) exhaustive: bool,
    pub(super) out_of_time: bool,
    pub(super) only: Option<Vec<u32>>,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Self {
            q: "",
            strategy: MatchingStrategy::Last,
            search_on: None,
            sort: Vec::new(),
            distinct: None,
            threshold: None,
            limit: 20,
            exhaustive: false,
            out_of_time: false,
            only: None,
        }
    }
}

/// A search for `q` with default options.
pub(super) fn ask(q: &str) -> Ask<'_> {
    Ask { q, ..Ask::default() }
}

impl Corpus {
    /// Documents by number. `settings` is JSON; missing settings have their defaults.
    pub(super) fn new(settings: Value, documents: &[(u32, Value)]) -> Self {
        let settings = Settings::parse(&settings.to_string()).unwrap();
        let analyzer = Analyzer::new(&settings).unwrap();
        let settings = Arc::new(settings);
        let layouts = [("one segment", usize::MAX), ("many segments, with deletions", 2)];
        let layouts = layouts
            .map(|(name, per_commit)| (name, build(&settings, &analyzer, documents, per_commit).unwrap()));
        Self { layouts: layouts.into(), analyzer }
    }

    /// Like [`Corpus::new`], with a single segment.
    pub(super) fn plain(settings: Value, documents: &[(u32, Value)]) -> Self {
        let settings = Arc::new(Settings::parse(&settings.to_string()).unwrap());
        let analyzer = Analyzer::new(&settings).unwrap();
        let snapshot = build(&settings, &analyzer, documents, usize::MAX).unwrap();
        Self { layouts: vec![("one segment", snapshot)], analyzer }
    }

    /// The first layout's answer to a request over all of its documents.
    pub(super) fn ask_first<'a>(
        &self,
        request: impl FnOnce(Arc<RoaringBitmap>) -> RankRequest<'a>,
    ) -> Ranked {
        let snapshot = &self.layouts[0].1;
        rank(snapshot, &self.analyzer, &request(snapshot.shared_documents())).unwrap()
    }

    /// Documents with a single text in the attribute `t`.
    pub(super) fn of_texts(settings: Value, texts: &[&str]) -> Self {
        let mut settings = settings;
        settings.as_object_mut().unwrap().entry("searchableAttributes").or_insert(serde_json::json!(["t"]));
        let documents: Vec<(u32, Value)> =
            (1..).zip(texts).map(|(id, text)| (id, serde_json::json!({"t": text}))).collect();
        Self::new(settings, &documents)
    }

    /// The answer of the first layout, after checking that all layouts agree.
    pub(super) fn answer(&self, ask: &Ask) -> Ranked {
        let mut answers =
            self.layouts.iter().map(|(name, snapshot)| (name, self.run(snapshot, ask).unwrap()));
        let (_, first) = answers.next().unwrap();
        for (name, other) in answers {
            assert_eq!(first.hits, other.hits, "{:?} in {name}", ask.q);
            assert_eq!(first.candidates, other.candidates, "{:?} in {name}", ask.q);
            assert_eq!(first.highlight_terms, other.highlight_terms, "{:?} in {name}", ask.q);
        }
        first
    }

    /// The error of a rejected search.
    pub(super) fn refusal(&self, ask: &Ask) -> String {
        self.run(&self.layouts[0].1, ask).unwrap_err().to_string()
    }

    /// The answer of the first layout within a budget.
    pub(super) fn answer_within(&self, ask: &Ask, budget: Budget) -> Ranked {
        self.run_within(&self.layouts[0].1, ask, budget).unwrap()
    }

    /// Calls `check` with the commit of each layout, and the analyzer.
    pub(super) fn each_layout(&self, mut check: impl FnMut(&Snapshot, &Analyzer)) {
        self.layouts.iter().for_each(|(_, snapshot)| check(snapshot, &self.analyzer));
    }

    fn run(&self, snapshot: &Snapshot, ask: &Ask) -> Result<Ranked> {
        let deadline = Instant::now() + Duration::from_secs(if ask.out_of_time { 0 } else { 60 });
        self.run_within(snapshot, ask, Budget::until(deadline))
    }

    fn run_within(&self, snapshot: &Snapshot, ask: &Ask, budget: Budget) -> Result<Ranked> {
        let universe = match &ask.only {
            Some(docids) => Arc::new(docids.iter().copied().collect()),
            None => snapshot.shared_documents(),
        };
        let request = RankRequest {
            q: Some(ask.q),
            universe,
            strategy: ask.strategy,
            search_on: ask.search_on.as_deref(),
            locales: None,
            sort: &ask.sort,
            distinct: ask.distinct,
            threshold: ask.threshold,
            wanted: ask.limit,
            exhaustive: ask.exhaustive,
            vector: None,
            only_by_vector: false,
            deadline: Instant::now().into(),
            scored: true,
        };
        rank_within(snapshot, &self.analyzer, &request, Arc::new(budget))
    }

    /// Checks ids and scores, to six digits, of a search with default options.
    #[track_caller]
    pub(super) fn expect(&self, q: &str, expected: &[(u32, f64)]) {
        self.expect_of(&ask(q), expected);
    }

    /// Checks ids and scores to six digits.
    #[track_caller]
    pub(super) fn expect_of(&self, ask: &Ask, expected: &[(u32, f64)]) {
        let answer = self.answer(ask);
        let rounded = |score: f64| (score * 1e6).round() / 1e6;
        let found: Vec<(u32, f64)> =
            answer.hits.iter().map(|hit| (hit.docid, rounded(hit.score()))).collect();
        assert_eq!(found, expected, "{:?}\n{}", ask.q, describe(&answer));
    }

    /// Checks only the order of ids.
    #[track_caller]
    pub(super) fn expect_ids(&self, ask: &Ask, expected: &[u32]) {
        let answer = self.answer(ask);
        let found: Vec<u32> = answer.hits.iter().map(|hit| hit.docid).collect();
        assert_eq!(found, expected, "{:?}\n{}", ask.q, describe(&answer));
    }

    /// Checks the ranks of a document, written as `W2/2 T3/3 P4/4 …`.
    #[track_caller]
    pub(super) fn expect_ranks(&self, ask: &Ask, docid: u32, expected: &str) {
        let answer = self.answer(ask);
        let hit = answer.hits.iter().find(|hit| hit.docid == docid).expect("it is a hit");
        assert_eq!(ranks(&hit.scores), expected, "{:?} document {docid}", ask.q);
    }
}

fn describe(answer: &Ranked) -> String {
    let lines = answer.hits.iter().map(|hit| format!("{} {}\n", hit.docid, ranks(&hit.scores)));
    lines.collect()
}

/// Formats ranks like the examples of the specification.
fn ranks(scores: &[crate::ranking::ScoreDetail]) -> String {
    use crate::ranking::ScoreDetail as Detail;
    let shown = scores.iter().map(|detail| {
        let letter = match detail {
            Detail::Words { .. } => "W",
            Detail::Typo { .. } => "T",
            Detail::Proximity(_) => "P",
            Detail::AttributeRank { .. } => "A",
            Detail::WordPosition { .. } => "S",
            Detail::ExactAttribute(_) => "E",
            Detail::ExactWords { .. } => "X",
            Detail::Relevance(_) => "R",
            Detail::Sort { .. } | Detail::Geo { .. } => return "sort".to_owned(),
            Detail::Vector { .. } => return "vector".to_owned(),
            Detail::Pin { .. } => return "pin".to_owned(),
            Detail::Scale { .. } => return "scale".to_owned(),
            Detail::Skipped => return "skipped".to_owned(),
        };
        let rank = detail.rank().unwrap();
        format!("{letter}{}/{}", rank.rank, rank.max)
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Writes `documents`, `per_commit` at a time, then adds others with the same words and deletes them again.
fn build(
    settings: &Arc<Settings>,
    analyzer: &Analyzer,
    documents: &[(u32, Value)],
    per_commit: usize,
) -> Result<Snapshot> {
    let layout = crate::fixture::caching_layout();
    let mut builder = SegmentBuilder::new(&layout, None, 0)?;
    let mut views = Vec::new();
    let mut fields = FieldMap::default();
    let mut doomed = RoaringBitmap::new();
    for (at, (docid, document)) in documents.iter().enumerate() {
        builder.add(document_for_tests(analyzer, &mut fields, *docid, &docid.to_string(), document))?;
        if per_commit == usize::MAX {
            continue;
        }
        let (decoy, place) = (format!("decoy{at}"), 5000 + at as u32);
        let other = &documents[(at + 1) % documents.len()].1;
        builder.add(document_for_tests(analyzer, &mut fields, place, &decoy, &reversed(other)))?;
        doomed.insert(place);
        if (at + 1) % per_commit == 0 {
            let full = std::mem::replace(&mut builder, SegmentBuilder::new(&layout, None, 0)?);
            views.extend(full.finish()?.map(SegmentView::of).transpose()?);
        }
    }
    views.extend(builder.finish()?.map(SegmentView::of).transpose()?);
    let views = views.iter().map(|view: &SegmentView| view.without(&doomed)).collect();
    let parts = SnapshotParts {
        fields: Arc::new(fields),
        settings: Arc::clone(settings),
        ..SnapshotParts::default()
    };
    Ok(Snapshot::new(&layout, parts, views))
}

/// Fills in the defaults that are missing in nested settings.
pub(super) fn merged_settings(settings: &Value) -> Value {
    let mut merged = serde_json::json!({
        "typoTolerance": {
            "enabled": true, "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9},
            "disableOnWords": [], "disableOnAttributes": [], "disableOnNumbers": false,
        },
        "faceting": {"maxValuesPerFacet": 100, "sortFacetValuesBy": {"*": "alpha"}},
    });
    for (key, value) in settings.as_object().unwrap() {
        match (merged.get_mut(key).and_then(Value::as_object_mut), value) {
            (Some(known), Value::Object(value)) => known.extend(value.clone()),
            _ => merged[key.as_str()] = value.clone(),
        }
    }
    merged
}

/// Returns a document with the same words in reverse order, each with a misspelt copy.
fn reversed(document: &Value) -> Value {
    match document {
        Value::String(text) => {
            let words: Vec<String> =
                text.split(' ').rev().map(|word| format!("{word} {word}x x{word}")).collect();
            Value::String(words.join(" "))
        }
        Value::Array(list) => list.iter().map(reversed).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), reversed(value))).collect(),
        other => other.clone(),
    }
}
