//! Splits documents into buckets by the cost of their cheapest path, that is, way of reading the query.
//!
//! Paths of equal cost are ordered as in a depth-first search: nodes in order of creation, skipping a node before
//! reading it, cheap before expensive. A document belongs to the first of its cheapest paths. The graph of a bucket
//! holds the paths that own at least one of its documents.
//!
//! Paths are not enumerated. Each edge has one least cost per document, and no higher cost can be part of a cheapest
//! path. Documents are split into groups with equal costs (`groups`). Each group is solved once by dynamic programming,
//! and the first cheapest path is found greedily (`solver`). The work never grows with the number of paths.
//!
//! For many documents only the cheap buckets are computed first, and expensive ones on demand: a step that costs more
//! than the current limit cannot be part of a path within it. Source: search §7.1.

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

/// Applies a [`CostRule`]: buckets in order of cost, computed on demand.
pub(in crate::ranking) struct CostBuckets<'a, R> {
    rule: R,
    resolver: &'a TermResolver<'a>,
    graph: Rc<QueryGraph>,
    /// The nodes that may be skipped. None: no node.
    removal: Option<Removal>,
    layout: Layout,
    cost_max: u32,
    ready: VecDeque<CostBucket>,
    /// Largest cost of the buckets to compute next. None: all buckets are computed.
    limit: Option<u32>,
    /// Number of documents in the universe if it lost only the buckets already taken.
    expected: u64,
    /// True if the universe contains all documents of `ready`.
    is_intact: bool,
}

/// Documents of equal cost.
struct CostBucket {
    cost: u32,
    /// In the order of preference.
    paths: Vec<Path>,
}

/// The nodes read, and the documents that belong to this path.
struct Path {
    nodes: Vec<TermNode>,
    claimed: Arc<RoaringBitmap>,
}

impl CostBucket {
    /// Returns the documents, intersected with `universe` if given, and, if `wants_graph`, the graph of their paths.
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

/// Paths in order of preference.
type Paths = BTreeMap<PathKey, Path>;

impl<'a, R: CostRule> CostBuckets<'a, R> {
    /// Prepares `rule` to split `universe` by the readings of the query in `graph`. `removal` tells which nodes may be
    /// skipped.
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

    /// Returns the cost of the most expensive path of the graph, even if no document has it.
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

    /// Computes the buckets with a cost of at most `limit`.
    fn extend(&mut self, universe: &Arc<RoaringBitmap>, limit: u32) -> Result<()> {
        if let (0, Some(path)) = (self.cost_max, &self.layout.only_path) {
            // The query has a single reading, which costs nothing: all documents are in one bucket.
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

    /// Groups documents by their cost for each step. Documents without a path within `limit` may be missing.
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
        // If every node is read, a document above the limit at one node has no path within it.
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
                // All computed buckets were taken, so none of them holds a document of the universe.
                self.is_intact = true;
                let limit = if universe.len() < LAZY_DOCUMENTS_MIN { ALL } else { limit };
                self.extend(universe, limit)?;
                // Doubling the limit keeps the repeated work below that of computing all buckets at once.
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
