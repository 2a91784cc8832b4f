//! Documents in buckets by the cheapest way of reading the query that they satisfy, claimed by the first such way.
//!
//! Paths of one total cost are ordered as a depth-first search meets them: nodes in order of creation, passing a node
//! over before reading it, cheap before dear. A document belongs to the first path of its least cost, and the graph
//! that a bucket hands on holds the paths that some document of it belongs to.
//!
//! An edge has one least cost per document, and no dearer one can lie on a cheapest path. So paths are not enumerated:
//! documents are split into groups of equal costs (`groups`), each group is solved once by dynamic programming, and the
//! first cheapest path is walked greedily (`solver`). Work never grows with the number of paths.
//!
//! Of many documents only the cheap buckets are worked out, dearer ones when they are asked for: a step that costs more
//! than the limit so far cannot lie on a path within it. Source: search §7.1.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::groups::cost_groups;
use super::levels::{CostLevels, CostLevelsBuilder};
use super::rule::{ALL, CostRule, Removal, Step};
use super::solver::{Layout, PathKey, PathStep, Solver};
use super::table::{CostColumn, CostGroup, CostTable};
use crate::error::Result;
use crate::query::{NodeId, QueryGraph, TermNode, TermResolver};
use crate::ranking::limits::{CELLS_MAX, LAZY_DOCUMENTS_MIN};
use crate::ranking::rule::{Bucket, RankingRule};

/// A [`CostRule`] at work: buckets in order of cost, worked out as far as they are asked for.
pub(in crate::ranking) struct CostBuckets<'a, R> {
    rule: R,
    resolver: &'a TermResolver<'a>,
    graph: Rc<QueryGraph>,
    /// Which nodes may be passed over; None: none.
    removal: Option<Removal>,
    layout: Layout,
    cost_max: u32,
    ready: VecDeque<CostBucket>,
    /// Costs up to which buckets are worked out next; None: all are.
    limit: Option<u32>,
    /// Documents that the universe has if it lost nothing but the buckets that were taken.
    expected: u64,
    /// Whether all of `ready` is in the universe.
    is_intact: bool,
}

/// Documents of one cost.
struct CostBucket {
    cost: u32,
    /// First come first.
    paths: Vec<Path>,
}

/// Nodes read, and the documents that claim them.
struct Path {
    nodes: Vec<TermNode>,
    claimed: Arc<RoaringBitmap>,
}

impl CostBucket {
    /// Its documents, cut down to `universe` if that is given, and, if `wants_graph`, the graph of the paths that claimed
    /// them.
    fn into_parts(
        self,
        universe: Option<&RoaringBitmap>,
        wants_graph: bool,
    ) -> (Arc<RoaringBitmap>, QueryGraph) {
        let mut paths = self.paths;
        let mut docs = match paths.as_mut_slice() {
            [path] => std::mem::take(&mut path.claimed),
            paths => Arc::new(paths.iter().fold(RoaringBitmap::new(), |docs, path| docs | &*path.claimed)),
        };
        if let Some(universe) = universe {
            docs = Arc::new(&*docs & universe);
        }
        if !wants_graph {
            return (docs, QueryGraph::default());
        }
        let only = paths.len() == 1;
        let used = paths.into_iter().filter(|path| only || !path.claimed.is_disjoint(&docs));
        let graph = QueryGraph::of_paths(used.map(|path| path.nodes));
        (docs, graph)
    }
}

/// Paths in the order they are tried.
type Paths = BTreeMap<PathKey, Path>;

impl<'a, R: CostRule> CostBuckets<'a, R> {
    /// Readies `rule` to split `universe` by the ways of reading in `graph`; `removal` says which nodes may be passed
    /// over.
    pub(in crate::ranking) fn new(
        rule: R,
        resolver: &'a TermResolver<'a>,
        graph: Rc<QueryGraph>,
        removal: Option<Removal>,
        universe: &RoaringBitmap,
    ) -> Self {
        let layout = Layout::new(&graph, removal.is_some(), rule.compares_neighbours());
        let mut buckets = Self {
            rule,
            resolver,
            graph,
            removal,
            layout,
            cost_max: 0,
            ready: VecDeque::new(),
            limit: Some(0),
            expected: universe.len(),
            is_intact: true,
        };
        buckets.cost_max = buckets.dearest_path();
        buckets
    }

    /// The cost of the dearest path of the graph, whether or not any document comes to it.
    fn dearest_path(&self) -> u32 {
        self.graph.max_cost(|from, to| {
            let read = self.rule.cost_max(self.resolver, self.step(from, to));
            let removal = self.removal.as_ref().and_then(|removal| removal.group[to]);
            removal.map_or(read, |_| self.graph.node(to).width().max(read))
        })
    }

    fn step(&self, from: Option<NodeId>, to: NodeId) -> Step<'_> {
        Step { from: from.map(|from| self.graph.node(from)), to: self.graph.node(to) }
    }

    /// Works out the buckets that cost at most `limit`.
    fn extend(&mut self, universe: &Arc<RoaringBitmap>, limit: u32) -> Result<()> {
        if let (0, Some(path)) = (self.cost_max, &self.layout.only_path) {
            // There is one way of reading the query, and it costs nothing: all documents are in one bucket.
            let nodes = path.iter().map(|&node| self.rule.narrowed(self.graph.node(node), 0)).collect();
            let path = Path { nodes, claimed: Arc::clone(universe) };
            self.ready.push_back(CostBucket { cost: 0, paths: vec![path] });
            return Ok(());
        }
        let budget = self.resolver.postings.budget();
        let mut found: BTreeMap<u32, Paths> = BTreeMap::new();
        for CostGroup { costs, docs } in self.groups(universe, limit)? {
            if budget.is_overdrawn() {
                break;
            }
            let solved = Solver::new(&self.graph, &self.layout, self.removal.as_ref(), &costs).solve();
            if solved.cost > limit && limit < self.cost_max {
                continue;
            }
            let nodes = solved.steps.iter().filter_map(|step| {
                let cost = step.read_at?;
                Some(self.rule.narrowed(self.graph.node(step.node), cost))
            });
            let key = solved.steps.iter().map(PathStep::order).collect();
            match found.entry(solved.cost.min(self.cost_max)).or_default().entry(key) {
                Entry::Vacant(path) => drop(path.insert(Path { nodes: nodes.collect(), claimed: docs })),
                Entry::Occupied(mut path) => *Arc::make_mut(&mut path.get_mut().claimed) |= &*docs,
            }
        }
        let bucket = |(cost, paths): (u32, Paths)| CostBucket { cost, paths: paths.into_values().collect() };
        self.ready.extend(found.into_iter().map(bucket));
        Ok(())
    }

    /// Documents by what each step costs them; those that no path within `limit` can hold may be left out.
    fn groups(&self, universe: &Arc<RoaringBitmap>, limit: u32) -> Result<Vec<CostGroup>> {
        let steps = self.layout.columns.iter().map(|&(from, to)| self.step(from, to));
        let cells = universe.len().saturating_mul(self.layout.columns.len() as u64);
        if limit == ALL && universe.len() < LAZY_DOCUMENTS_MIN && cells <= CELLS_MAX as u64 {
            let table = CostTable::of(universe);
            let column = |step| {
                let mut column = table.column();
                self.rule.charge(self.resolver, step, universe, limit, &mut column)?;
                Ok(column)
            };
            let columns: Vec<CostColumn> = steps.map(column).collect::<Result<_>>()?;
            return Ok(table.groups(&columns));
        }
        let within = self.rule.documents_within(self.resolver, &self.graph, limit)?;
        let within = within.map(|within| Arc::new(&*within & &**universe));
        let asked = within.as_ref().unwrap_or(universe);
        let levels = |step| {
            let mut levels = CostLevelsBuilder::new(asked);
            self.rule.charge(self.resolver, step, asked, limit, &mut levels)?;
            Ok(levels.finish())
        };
        let columns: Vec<CostLevels> = steps.map(levels).collect::<Result<_>>()?;
        // Where all nodes are read, a document that one of them costs more than the limit is beyond it.
        let all_read = limit < self.cost_max && self.layout.only_path.is_some();
        Ok(cost_groups(asked, &columns, limit, all_read, self.resolver.postings.budget()))
    }
}

impl<R: CostRule> RankingRule for CostBuckets<'_, R> {
    fn next_bucket(&mut self, universe: &Arc<RoaringBitmap>, wants_graph: bool) -> Result<Option<Bucket>> {
        self.is_intact &= universe.len() == self.expected;
        loop {
            let Some(bucket) = self.ready.pop_front() else {
                let Some(limit) = self.limit.filter(|_| !universe.is_empty()) else { return Ok(None) };
                // All buckets there were have been taken: what the universe holds is in none.
                self.is_intact = true;
                let limit = if universe.len() < LAZY_DOCUMENTS_MIN { ALL } else { limit };
                self.extend(universe, limit)?;
                // Looking again at what is left must not come to more than looking at it all at once.
                self.limit = (limit < self.cost_max).then(|| 2 * limit + 1);
                continue;
            };
            let detail = self.rule.detail(self.resolver, &self.graph, bucket.cost, self.cost_max);
            let (docs, graph) = bucket.into_parts((!self.is_intact).then_some(universe), wants_graph);
            if !docs.is_empty() {
                self.expected = universe.len() - docs.len();
                return Ok(Some(Bucket { docs, detail, graph: Rc::new(graph) }));
            }
        }
    }
}
