//! Words nearer to each other come first.

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

/// A word costs by how far it stands from the one before it; the reverse order costs one more.
///
/// Only words that follow one another in the query at once are compared. Joined words cost one less than
/// their number beforehand. Source: search §7.4.
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

/// Proximity by attribute: a pair costs nothing where one attribute holds both words, one where only its reverse was
/// looked up among documents with both, and is far anywhere else ([`AttributePairs`] says why there are such documents).
///
/// Documents with a reading free of cost come first; reversed pairs are looked up among the rest alone.
struct ByAttribute<'a> {
    resolver: &'a TermResolver<'a>,
    pairs: Rc<AttributePairs<'a>>,
    graph: Rc<QueryGraph>,
    is_begun: bool,
    /// The buckets of all documents that have no reading free of cost.
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

/// Charges for pairs in one attribute.
struct PairCosts<'a> {
    pairs: Rc<AttributePairs<'a>>,
    /// The orders that are looked up, cheapest first.
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

/// The node before, if nothing stands between the two in the query.
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

/// A sink to which every cost goes with that of joined words added.
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
    /// Documents of `universe` one attribute of which may hold both: no others can have them near each other.
    fn sharing_attribute(self, universe: &RoaringBitmap) -> Result<RoaringBitmap> {
        let Self { resolver, from, to } = self;
        let mut both = universe & &*resolver.node_docs(to)?;
        both &= &*resolver.node_docs(from)?;
        resolver.sharing_attribute(from, to, &both)
    }

    /// Charges `both` by distances that are cached for the whole index, up to `limit`. False, with nothing charged, if
    /// there are none of the words or prefixes by which most of these documents match; what the others match by is
    /// read from postings.
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

    /// Charges `docs` by reading where in each of them the two stand.
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

/// Where a node occurs.
struct NodeOccurrences {
    all: Rc<Occurrences>,
    /// Those that may also follow the other node instead of preceding it: words as such, no phrases, and no completions
    /// of a short, common prefix.
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
