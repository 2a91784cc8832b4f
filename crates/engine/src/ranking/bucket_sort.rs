//! Splits documents rule by rule until the page is full.
//!
//! Each rule splits a universe into buckets, best first. Each bucket is the universe of the next rule. Documents that
//! the last rule leaves together come in docid order. Source: search §6.4, §8, §11, §17.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::ranked::RankedHit;
use super::request::RankRequest;
use super::rule::{RankingRule, RuleSpec};
use super::score::ScoreDetail;
use crate::error::Result;
use crate::facets::{Columns, Distinct};
use crate::postings::Budget;
use crate::query::QueryGraph;
use crate::store::Snapshot;

/// Sorts documents of one request by ranking rules.
pub(super) struct BucketSort<'a> {
    snapshot: &'a Snapshot,
    request: &'a RankRequest<'a>,
    budget: &'a Budget,
}

/// Documents in order, and those that still count as candidates.
#[derive(Default)]
pub(super) struct Sorted {
    pub(super) hits: Vec<RankedHit>,
    pub(super) candidates: Arc<RoaringBitmap>,
    /// True if the budget ran out.
    pub(super) degraded: bool,
}

impl Sorted {
    /// Removes documents that turn out not to count.
    fn drop_candidates(&mut self, docs: &RoaringBitmap) {
        if !docs.is_empty() {
            *Arc::make_mut(&mut self.candidates) -= docs;
        }
    }
}

/// A rule at work on a universe.
struct Level<'a> {
    universe: Arc<RoaringBitmap>,
    /// The last bucket returned. `universe` still contains its documents: most pages are full before the next call.
    given: Option<Arc<RoaringBitmap>>,
    rule: Box<dyn RankingRule + 'a>,
}

impl Level<'_> {
    /// Documents that are in no bucket so far.
    fn left(&mut self) -> &mut Arc<RoaringBitmap> {
        if let Some(given) = self.given.take() {
            if given.len() == self.universe.len() {
                self.universe = Arc::default();
            } else {
                *Arc::make_mut(&mut self.universe) -= &*given;
            }
        }
        &mut self.universe
    }

    /// Like [`left`](Self::left), consuming the level.
    fn into_left(mut self) -> RoaringBitmap {
        Arc::unwrap_or_clone(std::mem::take(self.left()))
    }
}

impl<'a> BucketSort<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, request: &'a RankRequest<'a>, budget: &'a Budget) -> Self {
        Self { snapshot, request, budget }
    }

    /// Sorts `universe` by `rules`. Its documents match the readings of the query in `graph`.
    pub(super) fn run(
        &self,
        graph: &QueryGraph,
        rules: &[RuleSpec<'_>],
        universe: Arc<RoaringBitmap>,
    ) -> Result<Sorted> {
        let mut sorted = Sorted { candidates: Arc::clone(&universe), ..Sorted::default() };
        if rules.is_empty() {
            self.take_in_order(&universe, &mut sorted)?;
        } else {
            self.sort(graph, rules, universe, &mut sorted)?;
        }
        if let (true, Some(mut distinct)) = (self.request.exhaustive, self.distinct()?) {
            let all = &sorted.candidates;
            sorted.candidates = Arc::new(distinct.first_of_values(all)?);
        }
        Ok(sorted)
    }

    fn sort(
        &self,
        graph: &QueryGraph,
        rules: &[RuleSpec<'_>],
        universe: Arc<RoaringBitmap>,
        sorted: &mut Sorted,
    ) -> Result<()> {
        let mut distinct = self.distinct()?;
        let mut scores: Vec<ScoreDetail> = Vec::with_capacity(rules.len());
        let mut levels: Vec<Level> = Vec::with_capacity(rules.len());
        let needs_scores = self.request.scored || self.request.threshold.is_some();
        // `distinct` and a threshold exclude documents of the complete bucket.
        let takes_first = distinct.is_none() && self.request.threshold.is_none();
        // Universe and graph for the next rule, until it starts.
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
                let rule = rules[levels.len()].start(&universe, graph)?;
                levels.push(Level { universe, given: None, rule });
            }
            let is_last = levels.len() == rules.len();
            let Some(level) = levels.last_mut() else { break };
            let left = Arc::clone(level.left());
            let bucket = match left.is_empty() || self.budget.is_spent() {
                true => None,
                false if is_last && takes_first => {
                    level.rule.first_of_bucket(&left, self.request.wanted - sorted.hits.len())?
                }
                false => level.rule.next_bucket(&left, !is_last)?,
            };
            // A spent budget cuts buckets short: drop this one.
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

    /// Takes a final bucket. `distinct` removes documents from it and from the remaining universes.
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
            let (first_of_value, excluded) = distinct.keep(&docs, &sorted.candidates, usize::MAX)?;
            // A full page needs no further buckets.
            if sorted.hits.len() + (first_of_value.len() as usize) < self.request.wanted {
                for level in levels {
                    let left = level.left();
                    *left = Arc::new(&**left - &excluded);
                }
            }
            sorted.drop_candidates(&excluded);
            docs = Cow::Owned(first_of_value);
        }
        let missing = self.request.wanted - sorted.hits.len();
        let hits = docs.iter().take(missing).map(|docid| RankedHit { docid, scores: scores.to_vec() });
        sorted.hits.extend(hits);
        Ok(())
    }

    /// Takes documents by docid. Without rules, only as many are read as the page needs.
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

    /// Time is up: takes the rest of each rule's universe by docid, innermost first.
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
                // Documents excluded along the way are no longer candidates.
                let docs = docs & &*sorted.candidates;
                self.take(&docs, &scores, &mut levels, distinct, sorted)?;
            }
            scores.pop();
            scores.pop();
            left = levels.pop().map(Level::into_left);
        }
        Ok(())
    }

    /// Returns the filter for repeated values, if the request has a distinct attribute.
    fn distinct(&self) -> Result<Option<Distinct>> {
        self.request.distinct.map(|path| Columns::new(self.snapshot).distinct(path)).transpose()
    }
}
