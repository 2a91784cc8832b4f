//! The one algorithm behind most rules: documents are put in buckets by the cheapest way of reading the
//! query that they satisfy, and claimed by the first such way.
//!
//! A rule says what reading a node after another costs which documents. Paths of one total cost are
//! ordered as a depth-first search meets them: nodes in order of creation, passing a node over before
//! reading it, cheap before dear. A document belongs to the first path of its least cost, and the graph a
//! bucket hands on holds the paths some document of it belongs to.
//!
//! An edge has one least cost per document, and no dearer one can lie on a cheapest path; so instead of
//! enumerating paths, documents are split into classes of equal costs (`partition`), each class is solved
//! once by dynamic programming, and the first cheapest path is walked greedily (`solver`). Work never grows
//! with the number of paths.
//!
//! Of many documents only the cheap buckets are worked out, dearer ones when they are asked for: a step
//! that is known to cost more than the limit so far cannot lie on a path within it. That is what keeps a
//! page of a word in every third document from costing a look at each. Source: search-semantics §7.1.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::graph::{Graph, Node, NodeId};
use super::lexicon::Lexicon;
use super::limits::{CELLS_MAX, LAZY_DOCUMENTS_MIN};
use super::partition::{self, Class, Levels};
use super::rows::{Column, Rows};
use super::score::ScoreDetail;
use super::solver::{Layout, PathKey, Solver, Step};
use crate::error::Result;

/// The node cannot be read in this document.
pub(super) const NEVER: u32 = u32::MAX;

/// A limit that no cost exceeds but [`NEVER`].
pub(super) const ALL: u32 = NEVER - 1;

/// A ranking rule that puts a price on each step of reading the query.
pub(super) trait CostRule {
    /// Documents by what reading `to` after `from` (None: first) costs them: at least those of `universe`
    /// for which that is at most `limit`.
    fn levels(
        &self,
        lexicon: &Lexicon,
        from: Option<&Node>,
        to: &Node,
        universe: &RoaringBitmap,
        limit: u32,
    ) -> Result<Levels>;

    /// Whether those levels hold documents of `universe` alone.
    fn levels_are_within(&self, _lexicon: &Lexicon) -> bool {
        false
    }

    /// The same for few documents, whatever they cost.
    fn column<'r>(
        &self,
        lexicon: &Lexicon,
        from: Option<&Node>,
        to: &Node,
        rows: &'r Rows<'r>,
    ) -> Result<Column<'r>> {
        Ok(rows.column_of(&self.levels(lexicon, from, to, rows.set(), ALL)?))
    }

    /// Documents that some way of reading `graph` costs at most `limit`, if that is quickly told.
    fn within(&self, _lexicon: &Lexicon, _graph: &Graph, _limit: u32) -> Result<Option<Arc<RoaringBitmap>>> {
        Ok(None)
    }

    /// The most it could cost, whether or not any document comes to it.
    fn cost_max(&self, lexicon: &Lexicon, from: Option<&Node>, to: &Node) -> u32;

    /// What of `node` is left once it was read at `cost`.
    fn narrowed(&self, _lexicon: &Lexicon, node: &Node, _cost: u32) -> Node {
        node.clone()
    }

    /// Whether costs differ by what was read before.
    fn looks_back(&self) -> bool {
        false
    }

    /// Which nodes may be passed over.
    fn removal(&self) -> Option<&Removal> {
        None
    }

    /// What the bucket of `cost` says, where the dearest path costs `cost_max`.
    fn detail(&self, lexicon: &Lexicon, graph: &Graph, cost: u32, cost_max: u32) -> ScoreDetail;
}

/// The order in which nodes are given up: those of one group together, group 1 first.
///
/// Passing a node over costs as many as the query terms it covers, and forbids reading one of an earlier
/// group further on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Removal {
    /// By node; None: never given up.
    pub(super) group: Vec<Option<usize>>,
}

/// Documents of one cost.
struct CostBucket {
    cost: u32,
    /// First come first.
    paths: Vec<Path>,
}

/// Nodes read, and the documents that claim them.
struct Path {
    nodes: Vec<Node>,
    claimed: Arc<RoaringBitmap>,
}

impl CostBucket {
    /// Its documents, of `universe` if that is given, and the paths by which they were claimed, if somebody `goes_on` by
    /// them.
    fn into_parts(self, universe: Option<&RoaringBitmap>, goes_on: bool) -> (Arc<RoaringBitmap>, Graph) {
        let mut paths = self.paths;
        let mut docs = match paths.as_mut_slice() {
            [path] => std::mem::take(&mut path.claimed),
            paths => Arc::new(paths.iter().fold(RoaringBitmap::new(), |docs, path| docs | &*path.claimed)),
        };
        if let Some(universe) = universe {
            docs = Arc::new(&*docs & universe);
        }
        if !goes_on {
            return (docs, Graph::default());
        }
        let only = paths.len() == 1;
        let used = paths.into_iter().filter(|path| only || !path.claimed.is_disjoint(&docs));
        let graph = Graph::of_paths(used.map(|path| path.nodes));
        (docs, graph)
    }
}

/// A rule at work: buckets in order of cost, worked out as far as they are asked for.
pub(super) struct CostBuckets {
    rule: Box<dyn CostRule>,
    graph: Rc<Graph>,
    layout: Layout,
    cost_max: u32,
    ready: VecDeque<CostBucket>,
    /// Costs up to which buckets are worked out next; None: all are.
    limit: Option<u32>,
    /// Documents the universe has if it lost nothing but the buckets that were taken.
    expected: u64,
    /// Whether all of `ready` is in the universe.
    is_intact: bool,
}

/// Paths in the order they are tried.
type Paths = BTreeMap<PathKey, Path>;

impl CostBuckets {
    /// Readies `rule` to split `documents` documents by the ways of reading in `graph`.
    pub(super) fn new(rule: Box<dyn CostRule>, lexicon: &Lexicon, graph: Rc<Graph>, documents: u64) -> Self {
        let layout = Layout::new(&*rule, &graph);
        let cost_max = cost_max(&*rule, lexicon, &graph);
        Self {
            rule,
            graph,
            layout,
            cost_max,
            ready: VecDeque::new(),
            limit: Some(0),
            expected: documents,
            is_intact: true,
        }
    }

    /// The cheapest documents of `universe`, what is said of them, and the ways they were read by, if somebody `goes_on`
    /// by those. Whoever takes them takes them out of `universe` before the next call; it may lose others too.
    pub(super) fn next(
        &mut self,
        lexicon: &Lexicon,
        universe: &Arc<RoaringBitmap>,
        goes_on: bool,
    ) -> Result<Option<(Arc<RoaringBitmap>, ScoreDetail, Graph)>> {
        self.is_intact &= universe.len() == self.expected;
        loop {
            let Some(bucket) = self.ready.pop_front() else {
                let Some(limit) = self.limit.filter(|_| !universe.is_empty()) else { return Ok(None) };
                // All buckets there were have been taken: what the universe holds is in none.
                self.is_intact = true;
                let limit = if universe.len() < LAZY_DOCUMENTS_MIN { ALL } else { limit };
                self.extend(lexicon, universe, limit)?;
                // Looking again at what is left must not come to more than looking at it all at once.
                self.limit = (limit < self.cost_max).then(|| 2 * limit + 1);
                continue;
            };
            let detail = self.rule.detail(lexicon, &self.graph, bucket.cost, self.cost_max);
            let (docs, graph) = bucket.into_parts((!self.is_intact).then_some(universe), goes_on);
            if !docs.is_empty() {
                self.expected = universe.len() - docs.len();
                return Ok(Some((docs, detail, graph)));
            }
        }
    }

    /// Works out the buckets that cost at most `limit`. Where there is no choice, all are in one.
    fn extend(&mut self, lexicon: &Lexicon, universe: &Arc<RoaringBitmap>, limit: u32) -> Result<()> {
        if let (0, Some(path)) = (self.cost_max, &self.layout.only_path) {
            let nodes =
                path.iter().map(|&node| self.rule.narrowed(lexicon, self.graph.node(node), 0)).collect();
            let path = Path { nodes, claimed: Arc::clone(universe) };
            self.ready.push_back(CostBucket { cost: 0, paths: vec![path] });
            return Ok(());
        }
        let node = |id: NodeId| self.graph.node(id);
        let budget = lexicon.postings.budget();
        let columns = self.layout.columns.iter().map(|&(from, to)| (from.map(node), node(to)));
        let cells = universe.len().saturating_mul(self.layout.columns.len() as u64);
        let by_rows = limit == ALL && universe.len() < LAZY_DOCUMENTS_MIN && cells <= CELLS_MAX as u64;
        let classes = if by_rows {
            let rows = Rows::of(universe);
            let column = |(from, to)| self.rule.column(lexicon, from, to, &rows);
            let columns: Vec<Column> = columns.map(column).collect::<Result<_>>()?;
            rows.classes(&columns)
        } else {
            let within =
                self.rule.within(lexicon, &self.graph, limit)?.map(|within| Arc::new(&*within & &**universe));
            let asked = within.as_ref().unwrap_or(universe);
            let levels = |(from, to)| self.rule.levels(lexicon, from, to, asked, limit);
            let columns: Vec<Levels> = columns.map(levels).collect::<Result<_>>()?;
            // Where all nodes are read, what one does not cost within the limit does not come to it.
            let all_read = limit < self.cost_max && self.layout.only_path.is_some();
            let are_within = self.rule.levels_are_within(lexicon);
            partition::classes(asked, &columns, limit, all_read, are_within, budget)
        };
        let mut found: BTreeMap<u32, Paths> = BTreeMap::new();
        for Class { costs, docs } in classes {
            if budget.is_overdrawn() {
                break;
            }
            let solved = Solver::new(&*self.rule, &self.graph, &self.layout, &costs).solve();
            if solved.cost > limit && limit < self.cost_max {
                continue;
            }
            let nodes = solved.steps.iter().filter_map(|step| {
                let cost = step.read_at?;
                Some(self.rule.narrowed(lexicon, node(step.node), cost))
            });
            let key = solved.steps.iter().map(Step::order).collect();
            match found.entry(solved.cost.min(self.cost_max)).or_default().entry(key) {
                Entry::Vacant(path) => drop(path.insert(Path { nodes: nodes.collect(), claimed: docs })),
                Entry::Occupied(mut path) => *Arc::make_mut(&mut path.get_mut().claimed) |= &*docs,
            }
        }
        let bucket = |(cost, paths): (u32, Paths)| CostBucket { cost, paths: paths.into_values().collect() };
        self.ready.extend(found.into_iter().map(bucket));
        Ok(())
    }
}

/// The cost of the dearest path of `graph`, whether or not any document comes to it.
fn cost_max(rule: &dyn CostRule, lexicon: &Lexicon, graph: &Graph) -> u32 {
    let node = |id: NodeId| graph.node(id);
    graph.max_cost(|from, to| {
        let read = rule.cost_max(lexicon, from.map(node), node(to));
        let passed_over = rule.removal().and_then(|removal| removal.group[to]).map(|_| node(to).width());
        passed_over.map_or(read, |cost| cost.max(read))
    })
}
