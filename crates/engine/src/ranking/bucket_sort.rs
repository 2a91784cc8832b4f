//! Splits documents rule by rule until the page is full.
//!
//! Each rule splits a universe into buckets, best first; each bucket is the universe of the next rule; what
//! the last rule leaves together comes in docid order. Source: search-semantics §6.4, §8, §11, §17.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::attribute_rank_rule::AttributeRankRule;
use super::costs::{CostBuckets, CostRule, Removal};
use super::exact_attribute_rule::ExactAttributeRule;
use super::exact_words_rule::ExactWordsRule;
use super::graph::Graph;
use super::lexicon::Lexicon;
use super::matcher::Matcher;
use super::proximity_rule::ProximityRule;
use super::rules::{ByVector, Rule};
use super::score::ScoreDetail;
use super::sort_rule::SortRule;
use super::typo_rule::TypoRule;
use super::vector_rule::VectorRule;
use super::word_position_rule::WordPositionRule;
use super::words_rule::WordsRule;
use super::{RankRequest, Ranked, RankedHit};
use crate::error::Result;
use crate::facets::{Columns, Distinct};
use crate::postings::Budget;
use crate::store::Snapshot;

/// The parts of a request that decide when documents are taken.
pub(super) struct BucketSort<'a> {
    snapshot: &'a Snapshot,
    request: &'a RankRequest<'a>,
    budget: &'a Budget,
}

/// Documents in order, and which are still counted.
#[derive(Default)]
pub(super) struct Sorted {
    hits: Vec<RankedHit>,
    candidates: Arc<RoaringBitmap>,
    degraded: bool,
}

impl Sorted {
    pub(super) fn into_ranked(self, matcher: Matcher, used_negative_operator: bool, terms: usize) -> Ranked {
        let Self { hits, candidates, degraded } = self;
        let candidates = Arc::unwrap_or_clone(candidates);
        Ranked { hits, candidates, matcher, degraded, used_negative_operator, terms }
    }

    /// Documents that are not counted after all.
    fn drop_candidates(&mut self, docs: &RoaringBitmap) {
        if !docs.is_empty() {
            *Arc::make_mut(&mut self.candidates) -= docs;
        }
    }
}

/// A rule at work on a universe.
struct Level<'a> {
    universe: Arc<RoaringBitmap>,
    /// The bucket it gave away last, which `universe` still holds: most pages are full before it is asked for another.
    given: Option<Arc<RoaringBitmap>>,
    buckets: Buckets<'a>,
}

impl Level<'_> {
    /// What it has not yet given away.
    fn left(&mut self) -> &mut Arc<RoaringBitmap> {
        if let Some(given) = self.given.take() {
            self.universe = Arc::new(if given.len() == self.universe.len() {
                RoaringBitmap::new()
            } else {
                &*self.universe - &*given
            });
        }
        &mut self.universe
    }

    /// The same for the last time.
    fn into_left(mut self) -> RoaringBitmap {
        Arc::unwrap_or_clone(std::mem::take(self.left()))
    }
}

/// What a rule has left to give.
enum Buckets<'a> {
    Costs(Box<CostBuckets>),
    ExactAttribute { graph: Rc<Graph>, rule: Box<ExactAttributeRule> },
    Sort { graph: Rc<Graph>, rule: Box<SortRule<'a>> },
    Vector { graph: Rc<Graph>, rule: Box<VectorRule> },
}

/// Documents a rule holds equal.
struct Bucket {
    docs: Arc<RoaringBitmap>,
    detail: ScoreDetail,
    /// What the next rule goes by.
    graph: Rc<Graph>,
}

impl<'a> BucketSort<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, request: &'a RankRequest<'a>, budget: &'a Budget) -> Self {
        Self { snapshot, request, budget }
    }

    /// Sorts `universe` by `rules`. `lexicon` is there if any of them speaks of words.
    pub(super) fn run(
        &self,
        lexicon: Option<&Lexicon>,
        graph: &Graph,
        rules: &'a [Rule],
        universe: Arc<RoaringBitmap>,
    ) -> Result<Sorted> {
        let mut sorted = Sorted { candidates: Arc::clone(&universe), ..Sorted::default() };
        if rules.is_empty() {
            self.take_in_order(&universe, &mut sorted)?;
        } else {
            self.sort(lexicon, graph, rules, universe, &mut sorted)?;
        }
        if let (true, Some(mut distinct)) = (self.request.exhaustive, self.distinct()?) {
            let all = &sorted.candidates;
            sorted.candidates = Arc::new(distinct.keep(all, all, usize::MAX)?.0);
        }
        Ok(sorted)
    }

    fn sort(
        &self,
        lexicon: Option<&Lexicon>,
        graph: &Graph,
        rules: &'a [Rule],
        universe: Arc<RoaringBitmap>,
        sorted: &mut Sorted,
    ) -> Result<()> {
        let mut distinct = self.distinct()?;
        let mut scores: Vec<ScoreDetail> = Vec::with_capacity(rules.len());
        let mut levels: Vec<Level> = Vec::with_capacity(rules.len());
        let needs_scores = self.request.scored || self.request.threshold.is_some();
        // What the next rule is to start on, if it has not yet.
        let mut next = Some((universe, Rc::new(graph.clone())));
        while sorted.hits.len() < self.request.wanted {
            if let Some((universe, graph)) = next.take() {
                if self.budget.is_spent() {
                    return self.give_up(
                        Arc::unwrap_or_clone(universe),
                        levels,
                        scores,
                        &mut distinct,
                        sorted,
                    );
                }
                let buckets = self.start(&rules[levels.len()], lexicon, graph, &universe)?;
                levels.push(Level { universe, given: None, buckets });
            }
            let is_last = levels.len() == rules.len();
            let Some(level) = levels.last_mut() else { break };
            let left = Arc::clone(level.left());
            let bucket = match left.is_empty() || self.budget.is_spent() {
                true => None,
                false => level.buckets.next(lexicon, &left, !is_last)?,
            };
            // A bucket that was cut short is none.
            if self.budget.is_spent() && !left.is_empty() {
                levels.pop();
                return self.give_up(Arc::unwrap_or_clone(left), levels, scores, &mut distinct, sorted);
            }
            let Some(bucket) = bucket else {
                levels.pop();
                scores.pop();
                continue;
            };
            level.given = Some(Arc::clone(&bucket.docs));
            scores.push(bucket.detail);
            if self.is_below_threshold(&scores) {
                // Later buckets of this rule can only be worse.
                sorted.drop_candidates(&level.universe);
                scores.pop();
            } else if is_last || (bucket.docs.len() == 1 && !needs_scores) {
                self.take(&bucket.docs, &scores, &mut levels, &mut distinct, sorted)?;
                scores.pop();
            } else {
                next = Some((bucket.docs, bucket.graph));
            }
        }
        Ok(())
    }

    fn is_below_threshold(&self, scores: &[ScoreDetail]) -> bool {
        self.request.threshold.is_some_and(|threshold| ScoreDetail::global_score(scores) < threshold)
    }

    /// Sets a rule to work.
    fn start(
        &self,
        rule: &'a Rule,
        lexicon: Option<&Lexicon>,
        graph: Rc<Graph>,
        universe: &RoaringBitmap,
    ) -> Result<Buckets<'a>> {
        let lexicon = match (rule, lexicon) {
            (Rule::Sort(criterion), _) => {
                let rule = Box::new(SortRule::new(self.snapshot, criterion, universe)?);
                return Ok(Buckets::Sort { graph, rule });
            }
            (Rule::Vector(ByVector(nearest)), _) => {
                let (wanted, deadline) = (self.request.wanted, self.request.deadline.at());
                let rule = Box::new(VectorRule::new(nearest, universe, wanted, deadline)?);
                return Ok(Buckets::Vector { graph, rule });
            }
            (_, Some(lexicon)) => lexicon,
            (_, None) => unreachable!("rules that speak of words come with a lexicon"),
        };
        let rule: Box<dyn CostRule> = match *rule {
            Rule::ExactAttribute => {
                let rule = Box::new(ExactAttributeRule::new(lexicon, &graph, universe)?);
                return Ok(Buckets::ExactAttribute { graph, rule });
            }
            Rule::Words(strategy) => Box::new(WordsRule::new(Removal::new(strategy, &graph, lexicon)?)),
            Rule::Typo => Box::new(TypoRule),
            Rule::Proximity => Box::new(ProximityRule),
            Rule::AttributeRank { unified } => Box::new(AttributeRankRule { unified }),
            Rule::WordPosition { unified } => Box::new(WordPositionRule { unified }),
            Rule::ExactWords | Rule::Sort(_) | Rule::Vector(_) => Box::new(ExactWordsRule),
        };
        Ok(Buckets::Costs(Box::new(CostBuckets::new(rule, lexicon, graph, universe.len()))))
    }

    /// Takes a final bucket; `distinct` drops documents from it, and from all that is still to come.
    fn take(
        &self,
        docs: &RoaringBitmap,
        scores: &[ScoreDetail],
        levels: &mut [Level],
        distinct: &mut Option<Distinct>,
        sorted: &mut Sorted,
    ) -> Result<()> {
        let mut docs = Cow::Borrowed(docs);
        if let Some(distinct) = distinct {
            let (kept, excluded) = distinct.keep(&docs, &sorted.candidates, usize::MAX)?;
            for level in levels {
                let left = level.left();
                *left = Arc::new(&**left - &excluded);
            }
            sorted.drop_candidates(&excluded);
            docs = Cow::Owned(kept);
        }
        let room = self.request.wanted - sorted.hits.len();
        let hits = docs.iter().take(room).map(|docid| RankedHit { docid, scores: scores.to_vec() });
        sorted.hits.extend(hits);
        Ok(())
    }

    /// Without any rule, documents come by docid and are looked at only as far as the page reaches.
    fn take_in_order(&self, universe: &RoaringBitmap, sorted: &mut Sorted) -> Result<()> {
        let wanted = self.request.wanted;
        let (kept, excluded) = match self.distinct()? {
            Some(mut distinct) => distinct.keep(universe, universe, wanted)?,
            None => (universe.iter().take(wanted).collect(), RoaringBitmap::new()),
        };
        sorted.hits.extend(kept.into_iter().map(|docid| RankedHit { docid, scores: Vec::new() }));
        sorted.drop_candidates(&excluded);
        Ok(())
    }

    /// Time is up: what is left of each rule's universe, innermost first, comes by docid.
    fn give_up(
        &self,
        innermost: RoaringBitmap,
        mut levels: Vec<Level>,
        mut scores: Vec<ScoreDetail>,
        distinct: &mut Option<Distinct>,
        sorted: &mut Sorted,
    ) -> Result<()> {
        sorted.degraded = true;
        let mut left = Some(innermost);
        while let Some(docs) = left {
            scores.push(ScoreDetail::Skipped);
            if self.is_below_threshold(&scores) {
                sorted.drop_candidates(&docs);
            } else {
                // Documents excluded on the way have left the universes further out.
                let docs = docs & &*sorted.candidates;
                self.take(&docs, &scores, &mut levels, distinct, sorted)?;
            }
            scores.pop();
            scores.pop();
            left = levels.pop().map(Level::into_left);
        }
        Ok(())
    }

    /// What tells repetitions, if they are to be left out.
    fn distinct(&self) -> Result<Option<Distinct>> {
        self.request.distinct.map(|path| Columns::new(self.snapshot).distinct(path)).transpose()
    }
}

impl Buckets<'_> {
    /// The next bucket of documents of `universe`; its graph only if somebody goes on by it.
    fn next(
        &mut self,
        lexicon: Option<&Lexicon>,
        universe: &Arc<RoaringBitmap>,
        goes_on: bool,
    ) -> Result<Option<Bucket>> {
        let (graph, next) = match self {
            Self::Costs(costs) => {
                let Some(lexicon) = lexicon else { return Ok(None) };
                let next = costs.next(lexicon, universe, goes_on)?;
                return Ok(next.map(|(docs, detail, graph)| Bucket { docs, detail, graph: Rc::new(graph) }));
            }
            Self::ExactAttribute { graph, rule } => (graph, rule.next(universe)),
            Self::Vector { graph, rule } => (graph, rule.next(universe)?),
            Self::Sort { graph, rule } => (graph, rule.next(universe)?),
        };
        Ok(next.map(|(docs, detail)| Bucket { docs, detail, graph: Rc::clone(graph) }))
    }
}
