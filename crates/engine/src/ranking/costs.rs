//! The one algorithm behind most rules: documents are put in buckets by the cheapest way of reading the
//! query that they satisfy, and claimed by the first such way.
//!
//! A rule says what reading a node after another costs for each document. Paths of one total cost are
//! ordered as a depth-first search meets them: nodes in order of creation, passing a node over before
//! reading it, cheap before dear. A document belongs to the first path of its least cost, and the graph a
//! bucket hands on holds the paths some document of it belongs to.
//!
//! An edge has one least cost per document, and no dearer one can lie on a cheapest path; so instead of
//! enumerating paths, documents are laid out as rows of edge costs, equal rows are solved once by dynamic
//! programming, and the first cheapest path is walked greedily. Work grows with documents times edges,
//! never with the number of paths. Source: search-semantics §7.1.

use std::collections::BTreeMap;
use std::time::Instant;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::graph::{Graph, Node, NodeId};
use super::lexicon::Lexicon;
use super::limits::{CELLS_MAX, ROWS_MAX};
use super::score::ScoreDetail;
use crate::error::Result;

/// The node cannot be read in this document.
pub(super) const NEVER: u32 = u32::MAX;

/// A ranking rule that puts a price on each step of reading the query.
pub(super) trait CostRule {
    /// What reading `to` after `from` (None: first) costs each row, or [`NEVER`].
    fn costs(&self, lexicon: &Lexicon, from: Option<&Node>, to: &Node, rows: &Rows) -> Result<Vec<u32>>;

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

/// Documents laid out for a rule, ascending.
pub(super) struct Rows {
    docids: Vec<u32>,
    set: RoaringBitmap,
    /// By docid, where documents lie close enough.
    index: Vec<u32>,
}

impl Rows {
    fn new(docids: Vec<u32>) -> Self {
        let set = RoaringBitmap::from_sorted_iter(docids.iter().copied()).expect("docids ascend");
        let span = docids.last().map_or(0, |&last| last as usize + 1);
        let mut index = Vec::new();
        if span <= docids.len() * 64 {
            index.resize(span, u32::MAX);
            for (&docid, row) in docids.iter().zip(0..) {
                index[docid as usize] = row;
            }
        }
        Self { docids, set, index }
    }

    pub(super) fn len(&self) -> usize {
        self.docids.len()
    }

    /// The documents of the rows.
    pub(super) fn set(&self) -> &RoaringBitmap {
        &self.set
    }

    /// The row of a document.
    pub(super) fn row(&self, docid: u32) -> Option<usize> {
        if self.index.is_empty() {
            return self.docids.binary_search(&docid).ok();
        }
        self.index.get(docid as usize).filter(|&&row| row != u32::MAX).map(|&row| row as usize)
    }

    /// A column that costs `cost` for `docs` and is [`NEVER`] affordable elsewhere.
    pub(super) fn column(&self, docs: &RoaringBitmap, cost: u32) -> Vec<u32> {
        let mut column = vec![NEVER; self.len()];
        self.lower(&mut column, docs, cost);
        column
    }

    /// Lowers a column to `cost` for `docs`, where it is higher.
    pub(super) fn lower(&self, column: &mut [u32], docs: &RoaringBitmap, cost: u32) {
        if docs.len() == self.set.len() && *docs == self.set {
            column.iter_mut().for_each(|known| *known = cost.min(*known));
            return;
        }
        for docid in docs & &self.set {
            if let Some(row) = self.row(docid) {
                column[row] = cost.min(column[row]);
            }
        }
    }
}

/// Documents of one cost.
pub(super) struct CostBucket {
    pub(super) cost: u32,
    /// First come first: nodes read, and documents claimed.
    paths: Vec<(Vec<Node>, RoaringBitmap)>,
}

impl CostBucket {
    /// Its documents that are still in `universe`.
    pub(super) fn docs(&self, universe: &RoaringBitmap) -> RoaringBitmap {
        self.paths.iter().fold(RoaringBitmap::new(), |docs, (_, claimed)| docs | claimed) & universe
    }

    /// The paths by which documents of `universe` were claimed.
    pub(super) fn graph(&self, universe: &RoaringBitmap) -> Graph {
        let used = self.paths.iter().filter(|(_, claimed)| !claimed.is_disjoint(universe));
        Graph::of_paths(used.map(|(path, _)| path.clone()))
    }
}

/// Paths in the order they are tried, each with its narrowed nodes and the documents found by it.
type PathDocids = BTreeMap<PathKey, (Vec<Node>, Vec<u32>)>;

/// Puts the documents of `universe` in buckets, cheapest first. None if time runs out on the way.
pub(super) fn buckets(
    rule: &dyn CostRule,
    lexicon: &Lexicon,
    graph: &Graph,
    universe: &RoaringBitmap,
    deadline: Instant,
) -> Result<Option<Vec<CostBucket>>> {
    let layout = Layout::new(rule, graph);
    let rows_max = (CELLS_MAX / layout.columns.len().max(1)).clamp(1, ROWS_MAX);
    let mut found: BTreeMap<u32, PathDocids> = BTreeMap::new();
    let dearest = cost_max(rule, lexicon, graph);
    let mut docids = universe.iter().peekable();
    while docids.peek().is_some() {
        if Instant::now() >= deadline {
            return Ok(None);
        }
        let rows = Rows::new(docids.by_ref().take(rows_max).collect());
        for (costs, docids) in layout.rows(rule, lexicon, graph, &rows)? {
            let solved = Solver::new(rule, graph, &layout, &costs).solve();
            let path = solved.steps.iter().filter_map(|step| {
                let cost = step.read_at?;
                Some(rule.narrowed(lexicon, graph.node(step.node), cost))
            });
            let key = solved.steps.iter().map(Step::order).collect();
            let paths = found.entry(solved.cost.min(dearest)).or_default();
            paths.entry(key).or_insert_with(|| (path.collect(), Vec::new())).1.extend(docids);
        }
    }
    let buckets = found.into_iter().map(|(cost, paths)| {
        let claimed = |mut docids: Vec<u32>| {
            docids.sort_unstable();
            RoaringBitmap::from_sorted_iter(docids).expect("a document has one row")
        };
        let paths = paths.into_values().map(|(path, docids)| (path, claimed(docids)));
        CostBucket { cost, paths: paths.collect() }
    });
    Ok(Some(buckets.collect()))
}

/// Order of a path among those of the same cost.
type PathKey = Vec<(usize, u32)>;

/// Which column holds the costs of which edge. Edges between equal nodes share one.
struct Layout {
    columns: Vec<(Option<NodeId>, NodeId)>,
    /// By source (0: the start), then by successor.
    by_edge: Vec<Vec<usize>>,
}

impl Layout {
    fn new(rule: &dyn CostRule, graph: &Graph) -> Self {
        let mut layout = Self { columns: Vec::new(), by_edge: Vec::new() };
        let mut known: FxHashMap<(Option<&Node>, &Node), usize> = FxHashMap::default();
        for from in std::iter::once(None).chain((0..graph.len()).map(Some)) {
            let columns = graph.after(from).iter().map(|&to| {
                let from = from.filter(|_| rule.looks_back());
                *known.entry((from.map(|from| graph.node(from)), graph.node(to))).or_insert_with(|| {
                    layout.columns.push((from, to));
                    layout.columns.len() - 1
                })
            });
            let columns = columns.collect();
            layout.by_edge.push(columns);
        }
        layout
    }

    /// Distinct rows of costs, with their documents.
    fn rows(
        &self,
        rule: &dyn CostRule,
        lexicon: &Lexicon,
        graph: &Graph,
        rows: &Rows,
    ) -> Result<Vec<(Vec<u32>, Vec<u32>)>> {
        let columns: Vec<Vec<u32>> = self
            .columns
            .iter()
            .map(|&(from, to)| rule.costs(lexicon, from.map(|from| graph.node(from)), graph.node(to), rows))
            .collect::<Result<_>>()?;
        // Rows equal in the columns so far share a class; a column splits classes by its costs.
        let mut classes = vec![0u32; rows.len()];
        let mut examples = vec![0usize];
        let mut split: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        for column in columns.iter().filter(|column| column.iter().any(|cost| *cost != column[0])) {
            split.clear();
            examples.clear();
            for (row, (class, &cost)) in classes.iter_mut().zip(column).enumerate() {
                *class = *split.entry((*class, cost)).or_insert_with(|| {
                    examples.push(row);
                    examples.len() as u32 - 1
                });
            }
        }
        let costs = |&row: &usize| columns.iter().map(|column| column[row]).collect();
        let mut distinct: Vec<(Vec<u32>, Vec<u32>)> =
            examples.iter().map(|row| (costs(row), Vec::new())).collect();
        for (&class, &docid) in classes.iter().zip(&rows.docids) {
            distinct[class as usize].1.push(docid);
        }
        Ok(distinct)
    }
}

/// One step of a path.
#[derive(Debug, Clone, Copy)]
struct Step {
    node: NodeId,
    /// Its place among the successors of the step before.
    successor: usize,
    /// What reading the node cost; None: it was passed over.
    read_at: Option<u32>,
    cost: u32,
    /// The latest group given up so far.
    given_up: usize,
}

impl Step {
    /// Earlier successors come first; of one, passing over comes before reading.
    fn order(&self) -> (usize, u32) {
        (self.successor, self.read_at.map_or(0, |cost| cost.saturating_add(1)))
    }
}

/// The cheapest path for one row of costs.
struct Solver<'a> {
    graph: &'a Graph,
    layout: &'a Layout,
    removal: Option<&'a Removal>,
    costs: &'a [u32],
    /// By node and latest group given up: least cost from there to the end.
    least: FxHashMap<(NodeId, usize), u32>,
}

struct Solved {
    cost: u32,
    steps: Vec<Step>,
}

impl<'a> Solver<'a> {
    fn new(rule: &'a dyn CostRule, graph: &'a Graph, layout: &'a Layout, costs: &'a [u32]) -> Self {
        Self { graph, layout, removal: rule.removal(), costs, least: FxHashMap::default() }
    }

    /// The first of the cheapest paths. A document that satisfies none gets the dearest cost of all and no
    /// path, so that it is last rather than lost.
    fn solve(mut self) -> Solved {
        let cost = self.least_from(None, 0);
        let mut steps: Vec<Step> = Vec::new();
        let mut left = cost;
        if cost == NEVER {
            return Solved { cost, steps };
        }
        loop {
            let (from, given_up) = steps.last().map_or((None, 0), |step| (Some(step.node), step.given_up));
            let cheapest = self.steps(from, given_up).into_iter().find(|step| {
                step.cost <= left && self.least_from(Some(step.node), step.given_up) == left - step.cost
            });
            let Some(step) = cheapest else { break };
            left -= step.cost;
            steps.push(step);
        }
        Solved { cost, steps }
    }

    fn least_from(&mut self, from: Option<NodeId>, given_up: usize) -> u32 {
        if self.graph.after(from).is_empty() {
            return 0;
        }
        if let Some(&known) = from.and_then(|node| self.least.get(&(node, given_up))) {
            return known;
        }
        let mut least = NEVER;
        for step in self.steps(from, given_up) {
            least = least.min(self.least_from(Some(step.node), step.given_up).saturating_add(step.cost));
        }
        if let Some(node) = from {
            self.least.insert((node, given_up), least);
        }
        least
    }

    /// What may come after `from`, in the order it is tried.
    fn steps(&self, from: Option<NodeId>, given_up: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let columns = &self.layout.by_edge[from.map_or(0, |node| node + 1)];
        for (successor, (&node, &column)) in self.graph.after(from).iter().zip(columns).enumerate() {
            let group = self.removal.and_then(|removal| removal.group[node]);
            if let Some(group) = group {
                let cost = self.graph.node(node).width();
                steps.push(Step { node, successor, read_at: None, cost, given_up: given_up.max(group) });
            }
            let cost = self.costs[column];
            if cost != NEVER && group.is_none_or(|group| group >= given_up) {
                steps.push(Step { node, successor, read_at: Some(cost), cost, given_up });
            }
        }
        steps
    }
}

/// The cost of the dearest path of `graph`, whether or not any document comes to it.
pub(super) fn cost_max(rule: &dyn CostRule, lexicon: &Lexicon, graph: &Graph) -> u32 {
    let node = |id: NodeId| graph.node(id);
    graph.max_cost(|from, to| {
        let read = rule.cost_max(lexicon, from.map(node), node(to));
        let passed_over = rule.removal().and_then(|removal| removal.group[to]).map(|_| node(to).width());
        passed_over.map_or(read, |cost| cost.max(read))
    })
}
