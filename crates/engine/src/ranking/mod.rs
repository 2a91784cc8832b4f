//! Here are documents in play and a query: in which order do they answer it, and how well?
//!
//! 1. `query` takes the query apart; `term` finds what in the index may stand for each word; `graph` lays
//!    out the ways of reading it.
//! 2. Documents that match no way, not even the shortest one the strategy allows, are out.
//! 3. `bucket_sort` splits the rest rule by rule. Most rules price the steps of reading the query and share
//!    the algorithm of `costs`; each has a file of its own.
//! 4. `score` turns what the rules said into numbers.
//!
//! Source: search-semantics §4–§9, §11, §17, §18.

mod attribute_rank_rule;
mod bucket_sort;
mod costs;
mod exact_attribute_rule;
mod exact_words_rule;
mod graph;
mod lexicon;
mod limits;
mod matcher;
mod partition;
mod proximity_rule;
mod query;
mod rows;
mod rules;
mod score;
mod search_on;
mod solver;
mod sort_rule;
mod term;
mod typo_rule;
mod vector_rule;
mod word_position_rule;
mod words_rule;

#[cfg(test)]
mod tests;

pub use matcher::{MatchKind, MatchTerm, Matcher};
pub use score::{MatchType, Rank, ScoreDetail};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use roaring::RoaringBitmap;

use crate::analysis::{Analyzer, Language, parse_locales};
use crate::error::Result;
use crate::facets::GeoPoint;
use crate::postings::{Budget, OVERDRAFT, Postings, Reading};
use crate::store::Snapshot;
use crate::vector::Nearest;
use bucket_sort::BucketSort;
use costs::Removal;
use graph::Graph;
use lexicon::Lexicon;
use query::ParsedQuery;
use term::Derivations;

/// What to rank, and how.
#[derive(Debug, Clone)]
pub struct RankRequest<'a> {
    /// None or blank: every document matches.
    pub q: Option<&'a str>,
    /// Documents in play: those that pass the filter.
    pub universe: Arc<RoaringBitmap>,
    /// Which words may be missing.
    pub strategy: MatchingStrategy,
    /// Attributes or patterns words are looked for in; None: all searchable ones.
    pub search_on: Option<&'a [String]>,
    /// Three-letter codes of the languages the query may be in; None: those of the attributes searched.
    pub locales: Option<&'a [String]>,
    /// What the rule `sort` stands for.
    pub sort: &'a [SortCriterion],
    /// At most one hit per value of this attribute.
    pub distinct: Option<&'a str>,
    /// Documents scoring less are left out, as soon as it shows.
    pub threshold: Option<f64>,
    /// As many hits as are ranked, from the first.
    pub wanted: usize,
    /// Count candidates as if all were ranked: with `distinct`, look at every one.
    pub exhaustive: bool,
    /// Compares vectors where words would be compared; `q` is not looked at then.
    pub vector: Option<Arc<Nearest>>,
    /// When to stop ranking; what is left comes in docid order.
    pub deadline: Deadline,
    /// Whether anybody looks at [`RankedHit::scores`]; otherwise they may be left incomplete.
    pub scored: bool,
}

/// When to stop ranking: at a time, or as soon as nobody waits for the answer any more.
#[derive(Debug, Clone)]
pub struct Deadline {
    at: Instant,
    stop: Option<Arc<AtomicBool>>,
}

impl Deadline {
    /// At `at`, or once `stop` is set.
    pub fn new(at: Instant, stop: Option<Arc<AtomicBool>>) -> Self {
        Self { at, stop }
    }

    /// The latest time.
    fn at(&self) -> Instant {
        self.at
    }

    /// The time of a search that has to end by then.
    fn budget(&self) -> Budget {
        let Some(stop) = &self.stop else { return Budget::until(self.at) };
        // Once nobody waits, the clock says that even the time to finish is over.
        let (stop, over) = (Arc::clone(stop), self.at + OVERDRAFT);
        Budget::by(self.at, move || if stop.load(Ordering::Relaxed) { over } else { Instant::now() })
    }
}

impl From<Instant> for Deadline {
    fn from(at: Instant) -> Self {
        Self::new(at, None)
    }
}

/// Which words of a query may be missing in a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchingStrategy {
    /// Those at the end.
    Last,
    /// None.
    All,
    /// The commonest.
    Frequency,
}

/// One criterion of a request's `sort`, or a custom ranking rule.
#[derive(Debug, Clone, PartialEq)]
pub enum SortCriterion {
    /// By the best value of a field.
    Field {
        /// Dotted path.
        path: String,
        /// Smallest first.
        ascending: bool,
    },
    /// By distance from a point.
    Geo {
        /// Where distances start.
        origin: GeoPoint,
        /// Nearest first.
        ascending: bool,
    },
}

/// Documents in order.
#[derive(Debug)]
pub struct Ranked {
    /// The first `wanted`, best first.
    pub hits: Vec<RankedHit>,
    /// All that match, less those known to be left out by `distinct` or `threshold`.
    pub candidates: RoaringBitmap,
    /// What to highlight.
    pub matcher: Matcher,
    /// Time ran out.
    pub degraded: bool,
    /// Something in the query was ruled out with `-`.
    pub used_negative_operator: bool,
    /// Terms of the query.
    pub terms: usize,
}

/// A document and what the rules said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedHit {
    /// The document.
    pub docid: u32,
    /// In order of the rules.
    pub scores: Vec<ScoreDetail>,
}

impl RankedHit {
    /// Between 0 and 1; 1 if there was nothing to match.
    pub fn score(&self) -> f64 {
        ScoreDetail::global_score(&self.scores)
    }
}

/// Ranks the documents of `request.universe`.
///
/// # Errors
/// `invalid_search_attributes_to_search_on` names an attribute that is not searchable. Otherwise internal.
pub fn rank(snapshot: &Snapshot, analyzer: &Analyzer, request: &RankRequest) -> Result<Ranked> {
    rank_within(snapshot, analyzer, request, Arc::new(request.deadline.budget()))
}

fn rank_within(
    snapshot: &Snapshot,
    analyzer: &Analyzer,
    request: &RankRequest,
    budget: Arc<Budget>,
) -> Result<Ranked> {
    if let Some(nearest) = &request.vector {
        let rules = rules::by_vectors(snapshot.settings(), nearest, request.sort);
        let universe = present(&request.universe, snapshot);
        let sorted =
            BucketSort::new(snapshot, request, &budget).run(None, &Graph::default(), &rules, universe)?;
        return Ok(sorted.into_ranked(Matcher::default(), false, 0));
    }
    let postings = Postings::open(snapshot, Arc::clone(&budget))?;
    let within = search_on::fields(&postings, request.search_on)?;
    let within = within.as_deref();
    let query = parse(&postings, analyzer, request, within);
    let used_negative_operator = !query.negative_words.is_empty() || !query.negative_phrases.is_empty();
    let mut universe = present(&request.universe, snapshot);
    let ruled_out = ruled_out(&postings, &query, within, &universe)?;
    if !ruled_out.is_empty() {
        universe = Arc::new(&*universe - &ruled_out);
    }

    if query.terms.is_empty() {
        let rules = rules::without_words(snapshot.settings(), request.sort);
        let sorted =
            BucketSort::new(snapshot, request, &budget).run(None, &Graph::default(), &rules, universe)?;
        return Ok(sorted.into_ranked(Matcher::default(), used_negative_operator, 0));
    }
    let derivations = Derivations::new(&postings, analyzer);
    let (graph, terms) = Graph::new(&query.terms, &derivations)?;
    // Frequencies are those of the whole index, whatever the filter.
    let known = match request.strategy {
        MatchingStrategy::Frequency => snapshot.shared_documents(),
        MatchingStrategy::All | MatchingStrategy::Last => Arc::clone(&universe),
    };
    let lexicon = Lexicon::new(&postings, terms, within, known);
    let removal = Removal::new(request.strategy, &graph, &lexicon)?;
    let matching = lexicon.match_set(&graph, |node| removal.group[node].is_some())?;
    let universe = match request.strategy {
        MatchingStrategy::Frequency => Arc::new(&*matching & &*universe),
        MatchingStrategy::All | MatchingStrategy::Last => matching,
    };
    let matcher = Matcher::new(&graph, lexicon.terms());
    let rules = rules::with_words(snapshot.settings(), request.strategy, request.sort);
    let sorted = BucketSort::new(snapshot, request, &budget).run(Some(&lexicon), &graph, &rules, universe)?;
    Ok(sorted.into_ranked(matcher, used_negative_operator, query.terms.len()))
}

/// Those of `universe` that are there. Without a filter those are all.
fn present(universe: &Arc<RoaringBitmap>, snapshot: &Snapshot) -> Arc<RoaringBitmap> {
    let documents = snapshot.shared_documents();
    if Arc::ptr_eq(universe, &documents) { documents } else { Arc::new(&**universe & &*documents) }
}

fn parse(
    postings: &Postings,
    analyzer: &Analyzer,
    request: &RankRequest,
    within: Option<&[u16]>,
) -> ParsedQuery {
    let Some(q) = request.q.filter(|q| !q.trim().is_empty()) else { return ParsedQuery::default() };
    let languages = match request.locales {
        Some(codes) => parse_locales(codes),
        None => languages_searched(postings, analyzer, within),
    };
    let locales = (!languages.is_empty()).then_some(languages.as_slice());
    ParsedQuery::parse(&analyzer.tokens(q, locales), true)
}

/// The languages of all attributes searched that say theirs.
fn languages_searched(postings: &Postings, analyzer: &Analyzer, within: Option<&[u16]>) -> Vec<Language> {
    let searched = |field: &u16| within.is_none_or(|fields| fields.contains(field));
    let fields = postings.searchable().fields().filter(searched);
    let names = fields.filter_map(|field| postings.snapshot().fields().name(field));
    let mut languages = Vec::new();
    for language in names.filter_map(|name| analyzer.locales_of(name)).flatten() {
        if !languages.contains(language) {
            languages.push(*language);
        }
    }
    languages
}

/// Documents of `universe` that hold something the query rules out, just as it is written.
fn ruled_out(
    postings: &Postings,
    query: &ParsedQuery,
    within: Option<&[u16]>,
    universe: &RoaringBitmap,
) -> Result<RoaringBitmap> {
    let reading = Reading { forgiving: false, within };
    let mut docs = RoaringBitmap::new();
    for text in &query.negative_words {
        if let Some(word) = postings.word(text)? {
            docs |= postings.word_docs(&word)?.matching(reading, postings.searchable());
        }
    }
    for phrase in &query.negative_phrases {
        let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
        docs |= postings.phrase_docs(&slots, reading, universe)?;
    }
    Ok(docs)
}
