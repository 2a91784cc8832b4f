//! Prefers words that are closer to each other.

use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::attribute_pairs::{AttributePairs, PairOrder};
use crate::error::Result;
use crate::postings::{DISTANCE_MAX, Distances, Orders};
use crate::query::{QueryGraph, TermNode, TermResolver};
use crate::ranking::cost::{CostBuckets, CostRule, CostSink, Step};
use crate::ranking::rule::{Bucket, RankingRule, RuleSpec};
use crate::ranking::score::{Rank, ScoreDetail};

/// Cost of a distant pair.
const FAR: u32 = DISTANCE_MAX as u32;

pub(super) fn spec<'a>(resolver: &'a TermResolver<'a>) -> RuleSpec<'a> {
    if resolver.postings.nearness_is_by_attribute() {
        let pairs = Rc::new(AttributePairs::new(resolver));
        return RuleSpec::new("proximity", move |_, graph| {
            Ok(ByAttribute { resolver, pairs: Rc::clone(&pairs), graph, is_begun: false, either_order: None })
        });
    }
    RuleSpec::new("proximity", |universe, graph| {
        Ok(CostBuckets::new(ProximityRule::ByDistance, resolver, graph, None, universe))
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
    either_order: Option<CostBuckets<'a, ProximityRule<'a>>>,
}

impl<'a> ByAttribute<'a> {
    fn buckets(
        &self,
        orders: &'static [PairOrder],
        universe: &RoaringBitmap,
    ) -> CostBuckets<'a, ProximityRule<'a>> {
        let rule = ProximityRule::ByAttribute { pairs: Rc::clone(&self.pairs), orders };
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

/// Charges a word for its distance from the previous one.
///
/// Only direct neighbours in the query are compared. Joined words start at a cost of their number minus one. Source:
/// search §7.4.
enum ProximityRule<'a> {
    /// The words cost their distance minus one; the reverse order costs one more.
    ByDistance,
    ByAttribute {
        pairs: Rc<AttributePairs<'a>>,
        /// The orders to look up, cheapest first.
        orders: &'static [PairOrder],
    },
}

impl CostRule for ProximityRule<'_> {
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
        match self {
            Self::ByDistance => {
                if let Some(limit) = limit.checked_sub(joining(to)) {
                    let both = universe & &*matching & &*resolver.node_docs(from)?;
                    charge_distances(resolver, (from, to), &both, limit, sink)?;
                }
            }
            Self::ByAttribute { pairs, orders } => {
                let in_play = Arc::new(universe.clone());
                for (&order, dearer) in orders.iter().zip(0..) {
                    let mut docs = pairs.sharing_attribute(from, to, order, &in_play)?;
                    docs &= &*matching;
                    sink.all(&docs, joining(to) + dearer);
                }
            }
        }
        sink.all_shared(&matching, joining(to) + FAR);
        Ok(())
    }

    fn cost_max(&self, _: &TermResolver, step: Step<'_>) -> u32 {
        joining(step.to) + neighbour(step).map_or(0, |_| FAR)
    }

    fn compares_neighbours(&self) -> bool {
        true
    }

    fn detail(&self, _: &TermResolver, _: &QueryGraph, cost: u32, cost_max: u32) -> ScoreDetail {
        ScoreDetail::Proximity(Rank { rank: cost_max - cost + 1, max: cost_max + 1 })
    }
}

/// Charges the documents of `both`, which match both nodes, by the distance of the nodes, up to a cost of `limit`.
fn charge_distances(
    resolver: &TermResolver,
    (from, to): (&TermNode, &TermNode),
    both: &RoaringBitmap,
    limit: u32,
    sink: &mut dyn CostSink,
) -> Result<()> {
    let both = resolver.sharing_attribute(from, to, both)?;
    if both.is_empty() {
        return Ok(());
    }
    let orders = if limit == 0 { Orders::Forward } else { Orders::Both };
    let Distances { forward, backward } = resolver.distances(from, to, &both, orders)?;
    for (near, dearer) in [(forward, 0), (backward, 1)] {
        for (cost, docs) in (dearer..=limit.min(FAR - 1)).zip(near.sets()) {
            sink.all(&(docs & &both), joining(to) + cost);
        }
        for (docid, distance) in near.documents {
            sink.one(docid, joining(to) + dearer + u32::from(distance) - 1);
        }
    }
    Ok(())
}

fn joining(node: &TermNode) -> u32 {
    node.width() - 1
}

/// Returns the previous node, if it is a direct neighbour in the query.
fn neighbour<'a>(Step { from, to }: Step<'a>) -> Option<&'a TermNode> {
    from.filter(|from| from.positions.end() + 1 == *to.positions.start())
}
