//! Prefers words that are closer to each other.

use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::attribute_pairs::{AttributePairs, PairOrder};
use crate::error::Result;
use crate::postings::{ByDistance, DISTANCE_MAX, NEAR_DOCUMENTS_MIN, Occurrences, Orders, Side};
use crate::query::{DerivationKinds, QueryGraph, Slot, TermNode, TermResolver};
use crate::ranking::cost::{CostBuckets, CostRule, CostSink, Step};
use crate::ranking::rule::{Bucket, RankingRule, RuleSpec};
use crate::ranking::score::{Rank, ScoreDetail};

/// A word costs its distance from the previous one; the reverse order costs one more.
///
/// Only direct neighbours in the query are compared. Joined words start at a cost of their number minus one. Source:
/// search §7.4.
struct ProximityRule;

pub(super) fn spec<'a>(resolver: &'a TermResolver<'a>) -> RuleSpec<'a> {
    if resolver.postings.nearness_is_by_attribute() {
        let pairs = Rc::new(AttributePairs::new(resolver));
        return RuleSpec::new("proximity", move |_, graph| {
            Ok(ByAttribute { resolver, pairs: Rc::clone(&pairs), graph, is_begun: false, either_order: None })
        });
    }
    RuleSpec::new("proximity", |universe, graph| {
        Ok(CostBuckets::new(ProximityRule, resolver, graph, None, universe))
    })
}

/// Proximity by attribute. A pair costs nothing if one attribute contains both words. It costs one if only the reverse
/// pair was looked up among documents with both ([`AttributePairs`] explains how that happens), and the maximum
/// otherwise.
///
/// Documents with a free reading come first; reverse pairs are looked up only among the rest.
struct ByAttribute<'a> {
    resolver: &'a TermResolver<'a>,
    pairs: Rc<AttributePairs<'a>>,
    graph: Rc<QueryGraph>,
    is_begun: bool,
    /// The buckets of the documents without a free reading.
    either_order: Option<CostBuckets<'a, PairCosts<'a>>>,
}

impl<'a> ByAttribute<'a> {
    fn buckets(
        &self,
        orders: &'static [PairOrder],
        universe: &RoaringBitmap,
    ) -> CostBuckets<'a, PairCosts<'a>> {
        let rule = PairCosts { pairs: Rc::clone(&self.pairs), orders };
        CostBuckets::new(rule, self.resolver, Rc::clone(&self.graph), None, universe)
    }
}

impl RankingRule for ByAttribute<'_> {
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, wants_graph: bool) -> Result<Option<Bucket>> {
        if !std::mem::replace(&mut self.is_begun, true) {
            let first = self.buckets(&[PairOrder::Forward], universe).next_bucket(universe, wants_graph)?;
            let is_free = |bucket: &Bucket| matches!(bucket.detail, ScoreDetail::Proximity(Rank { rank, max }) if rank == max);
            if let Some(free) = first.filter(is_free) {
                return Ok(Some(free));
            }
        }
        let mut buckets = match self.either_order.take() {
            Some(buckets) => buckets,
            None => self.buckets(&[PairOrder::Forward, PairOrder::Backward], universe),
        };
        let bucket = buckets.next_bucket(universe, wants_graph);
        self.either_order = Some(buckets);
        bucket
    }
}

/// Charges for pairs by shared attribute.
struct PairCosts<'a> {
    pairs: Rc<AttributePairs<'a>>,
    /// The orders to look up, cheapest first.
    orders: &'static [PairOrder],
}

impl CostRule for PairCosts<'_> {
    fn charge(
        &self,
        resolver: &TermResolver,
        step: Step<'_>,
        universe: &RoaringBitmap,
        _: u32,
        sink: &mut dyn CostSink,
    ) -> Result<()> {
        let to = step.to;
        let matching = resolver.node_docs(to)?;
        let Some(from) = neighbour(step) else {
            sink.all_shared(&matching, joining(to));
            return Ok(());
        };
        let in_play = Arc::new(universe.clone());
        for (&order, dearer) in self.orders.iter().zip(0..) {
            let mut docs = self.pairs.sharing_attribute(from, to, order, &in_play)?;
            docs &= &*matching;
            sink.all(&docs, joining(to) + dearer);
        }
        sink.all_shared(&matching, joining(to) + u32::from(DISTANCE_MAX));
        Ok(())
    }

    fn cost_max(&self, _: &TermResolver, step: Step<'_>) -> u32 {
        cost_max(step)
    }

    fn compares_neighbours(&self) -> bool {
        true
    }

    fn detail(&self, _: &TermResolver, _: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail {
        detail(cost, cost_max)
    }
}

fn joining(node: &TermNode) -> u32 {
    node.width() - 1
}

/// Returns the previous node, if it is a direct neighbour in the query.
fn neighbour<'a>(Step { from, to }: Step<'a>) -> Option<&'a TermNode> {
    from.filter(|from| from.positions.end() + 1 == *to.positions.start())
}

fn cost_max(step: Step<'_>) -> u32 {
    joining(step.to) + neighbour(step).map_or(0, |_| u32::from(DISTANCE_MAX))
}

fn detail(cost: u32, cost_max: u32) -> ScoreDetail {
    ScoreDetail::Proximity(Rank { rank: cost_max - cost + 1, max: cost_max + 1 })
}

impl CostRule for ProximityRule {
    fn charge(
        &self,
        resolver: &TermResolver,
        step: Step<'_>,
        universe: &RoaringBitmap,
        limit: u32,
        sink: &mut dyn CostSink,
    ) -> Result<()> {
        let to = step.to;
        let matching = resolver.node_docs(to)?;
        let Some(from) = neighbour(step) else {
            sink.all_shared(&matching, joining(to));
            return Ok(());
        };
        let Some(limit) = limit.checked_sub(joining(to)) else { return Ok(()) };
        let pair = Pair { resolver, from, to };
        let both = pair.sharing_attribute(universe)?;
        if !both.is_empty() {
            let sink = &mut Joined { sink, joining: joining(to) };
            if !pair.charge_by_cached_distances(&both, limit, sink)? {
                pair.charge_by_occurrences(&both, sink)?;
            }
        }
        sink.all_shared(&matching, joining(to) + u32::from(DISTANCE_MAX));
        Ok(())
    }

    fn cost_max(&self, _: &TermResolver, step: Step<'_>) -> u32 {
        cost_max(step)
    }

    fn compares_neighbours(&self) -> bool {
        true
    }

    fn detail(&self, _: &TermResolver, _: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail {
        detail(cost, cost_max)
    }
}

/// Passes costs on with the cost of joining words added.
struct Joined<'a> {
    sink: &'a mut dyn CostSink,
    joining: u32,
}

impl CostSink for Joined<'_> {
    fn one(&mut self, docid: u32, cost: u32) {
        self.sink.one(docid, self.joining + cost);
    }

    fn all(&mut self, docs: &RoaringBitmap, cost: u32) {
        self.sink.all(docs, self.joining + cost);
    }
}

/// Two neighbouring nodes of the query.
#[derive(Clone, Copy)]
struct Pair<'a> {
    resolver: &'a TermResolver<'a>,
    from: &'a TermNode,
    to: &'a TermNode,
}

impl Pair<'_> {
    /// Returns documents of `universe` that may contain both in one attribute: only these can have them near each
    /// other.
    fn sharing_attribute(self, universe: &RoaringBitmap) -> Result<RoaringBitmap> {
        let Self { resolver, from, to } = self;
        let mut both = universe & &*resolver.node_docs(to)?;
        both &= &*resolver.node_docs(from)?;
        resolver.sharing_attribute(from, to, &both)
    }

    /// Charges `both` by distances cached for the complete index, up to `limit`. Documents that match by other
    /// derivations are read from postings. Returns false, with nothing charged, if these are the majority or the
    /// distances are not cached.
    fn charge_by_cached_distances(
        self,
        both: &RoaringBitmap,
        limit: u32,
        sink: &mut dyn CostSink,
    ) -> Result<bool> {
        let Self { resolver, from, to } = self;
        let (lefts, rights) = (resolver.sides(from), resolver.sides(to));
        let (Some(left), Some(right)) = (lefts.one, rights.one) else { return Ok(false) };
        let mut others = resolver.docs_with_occurrences(from, lefts.rest, both)?;
        others |= resolver.docs_with_occurrences(to, rights.rest, both)?;
        if others.len() * 2 > both.len() {
            return Ok(false);
        }
        let distances = |left: &Side, right: &Side, orders: Orders| -> Result<Option<Arc<ByDistance>>> {
            match both.len() >= NEAR_DOCUMENTS_MIN {
                true => resolver.postings.near_docs(left, right, orders).map(Some),
                false => resolver.postings.near_docs_if_cheap(left, right, orders, both.len()),
            }
        };
        let both_ways =
            lefts.reversible.as_ref() == Some(&left) && rights.reversible.as_ref() == Some(&right);
        let orders = if both_ways { Orders::Both } else { Orders::Forward };
        let Some(forward) = distances(&left, &right, orders)? else { return Ok(false) };
        let backward = match (limit, lefts.reversible, rights.reversible) {
            (1.., Some(left), Some(right)) => {
                let Some(backward) = distances(&right, &left, Orders::Forward)? else { return Ok(false) };
                Some(backward)
            }
            _ => None,
        };
        let asked = (limit as usize).saturating_add(1).min(forward.len());
        for (cost, docs) in (0..).zip(&forward[..asked]) {
            sink.all(&(docs & both), cost);
        }
        // The reverse order costs one more.
        for (cost, docs) in (1..asked as u32).zip(backward.iter().flat_map(|backward| backward.iter())) {
            sink.all(&(docs & both), cost);
        }
        if !others.is_empty() {
            self.charge_by_occurrences(&others, sink)?;
        }
        Ok(true)
    }

    /// Charges `docs` by reading the occurrences of both nodes in each document.
    fn charge_by_occurrences(self, docs: &RoaringBitmap, sink: &mut dyn CostSink) -> Result<()> {
        let left = NodeOccurrences::new(self.resolver, self.from, Slot::Last, docs)?;
        let right = NodeOccurrences::new(self.resolver, self.to, Slot::First, docs)?;
        for (docid, distance) in left.all.distances_to(&right.all) {
            sink.one(docid, u32::from(distance) - 1);
        }
        for (docid, distance) in right.reversible.distances_to(&left.reversible) {
            if distance < DISTANCE_MAX {
                sink.one(docid, u32::from(distance));
            }
        }
        Ok(())
    }
}

/// Occurrences of a node.
struct NodeOccurrences {
    all: Rc<Occurrences>,
    /// Occurrences that may also follow the other node instead of preceding it: single words, no phrases, and no
    /// completions of a short, common prefix.
    reversible: Rc<Occurrences>,
}

impl NodeOccurrences {
    fn new(resolver: &TermResolver, node: &TermNode, slot: Slot, docs: &RoaringBitmap) -> Result<Self> {
        let term = resolver.term(node);
        let mut found = Self { all: Rc::default(), reversible: Rc::default() };
        for kind in node.kinds.each() {
            let occurrences = resolver.occurrences(node, kind, slot, docs)?;
            let by_prefix = kind == DerivationKinds::PREFIX && term.completes_by_prefix();
            if term.phrases(kind).is_empty() && !by_prefix {
                found.reversible = merged(&found.reversible, &occurrences);
            }
            found.all = merged(&found.all, &occurrences);
        }
        Ok(found)
    }
}

fn merged(known: &Rc<Occurrences>, more: &Rc<Occurrences>) -> Rc<Occurrences> {
    match (known.is_empty(), more.is_empty()) {
        (true, _) => Rc::clone(more),
        (_, true) => Rc::clone(known),
        _ => Rc::new(Occurrences::clone(known).merged(more)),
    }
}
