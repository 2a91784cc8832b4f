//! Finds the cheapest reading of the query for the documents of a group.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::rule::{NEVER, Removal};
use crate::query::{NodeId, QueryGraph, TermNode};

/// Order of a path among paths of equal cost.
pub(super) type PathKey = Vec<(usize, u32)>;

/// Maps edges to columns of costs. Edges between equal nodes share a column.
pub(super) struct Layout {
    pub(super) columns: Vec<(Option<NodeId>, NodeId)>,
    /// By source (0: the start), then by successor.
    by_edge: Vec<Vec<usize>>,
    /// The nodes of the only path, if there is a single path and no node may be skipped.
    pub(super) only_path: Option<Vec<NodeId>>,
}

impl Layout {
    /// Numbers the edges of `graph`. Edges to equal nodes share a column unless the rule `compares_neighbours`.
    pub(super) fn new(graph: &QueryGraph, can_remove: bool, compares_neighbours: bool) -> Self {
        let only_path = if can_remove { None } else { graph.only_path() };
        let mut layout = Self { columns: Vec::new(), by_edge: Vec::new(), only_path };
        let mut known: FxHashMap<(Option<&TermNode>, &TermNode), usize> = FxHashMap::default();
        for from in std::iter::once(None).chain((0..graph.len()).map(Some)) {
            let columns = graph.after(from).iter().map(|&to| {
                let from = from.filter(|_| compares_neighbours);
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
}

/// A step of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathStep {
    pub(super) node: NodeId,
    /// Its index among the successors of the previous step.
    successor: usize,
    /// The cost of reading the node. None: it is skipped.
    pub(super) read_at: Option<u32>,
    cost: u32,
    /// The latest group skipped so far.
    given_up: usize,
}

impl PathStep {
    /// Earlier successors come first; for the same successor, skipping comes before reading.
    pub(super) fn order(&self) -> (usize, u32) {
        (self.successor, self.read_at.map_or(0, |cost| cost.saturating_add(1)))
    }
}

/// Finds the cheapest path for a group of documents.
pub(super) struct Solver<'a> {
    graph: &'a QueryGraph,
    layout: &'a Layout,
    removal: Option<&'a Removal>,
    costs: &'a [u32],
    /// Least cost from a node to the end, by latest skipped group, then by node. None: not computed yet.
    least: Vec<Option<u32>>,
}

/// Steps stored without allocation; most nodes have fewer.
const STEPS_INLINE: usize = 6;

/// A path and its cost.
pub(super) struct Solved {
    pub(super) cost: u32,
    pub(super) steps: Vec<PathStep>,
}

impl<'a> Solver<'a> {
    /// `costs`: by column of `layout`.
    pub(super) fn new(
        graph: &'a QueryGraph,
        layout: &'a Layout,
        removal: Option<&'a Removal>,
        costs: &'a [u32],
    ) -> Self {
        Self { graph, layout, removal, costs, least: Vec::new() }
    }

    /// Returns the first of the cheapest paths. Documents that match no path get the highest possible cost and no
    /// steps, so that they come last instead of being lost.
    pub(super) fn solve(mut self) -> Solved {
        if let Some(path) = &self.layout.only_path {
            return self.read(path);
        }
        let groups = self.removal.and_then(|removal| removal.group.iter().flatten().max());
        self.least = vec![None; (groups.map_or(0, |last| *last) + 1) * self.graph.len()];
        let cost = self.least_from(None, 0);
        let mut steps: Vec<PathStep> = Vec::new();
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

    /// Reads all nodes of `path` in order.
    fn read(&self, path: &[NodeId]) -> Solved {
        let before = std::iter::once(0).chain(path.iter().map(|node| node + 1));
        let costs =
            before.map_while(|from| self.layout.by_edge[from].first().map(|&column| self.costs[column]));
        let costs: SmallVec<[u32; STEPS_INLINE]> = costs.collect();
        if costs.contains(&NEVER) {
            return Solved { cost: NEVER, steps: Vec::new() };
        }
        let step = |(&node, &cost)| PathStep { node, successor: 0, read_at: Some(cost), cost, given_up: 0 };
        Solved { cost: costs.iter().sum(), steps: path.iter().zip(&costs).map(step).collect() }
    }

    fn least_from(&mut self, from: Option<NodeId>, given_up: usize) -> u32 {
        if self.graph.after(from).is_empty() {
            return 0;
        }
        let cell = from.map(|node| given_up * self.graph.len() + node);
        if let Some(known) = cell.and_then(|cell| self.least[cell]) {
            return known;
        }
        let mut least = NEVER;
        for step in self.steps(from, given_up) {
            least = least.min(self.least_from(Some(step.node), step.given_up).saturating_add(step.cost));
        }
        if let Some(cell) = cell {
            self.least[cell] = Some(least);
        }
        least
    }

    /// Returns the possible steps after `from`, in order of preference.
    fn steps(&self, from: Option<NodeId>, given_up: usize) -> SmallVec<[PathStep; STEPS_INLINE]> {
        let mut steps = SmallVec::new();
        let columns = &self.layout.by_edge[from.map_or(0, |node| node + 1)];
        for (successor, (&node, &column)) in self.graph.after(from).iter().zip(columns).enumerate() {
            let group = self.removal.and_then(|removal| removal.group[node]);
            if let Some(group) = group {
                let cost = self.graph.node(node).width();
                steps.push(PathStep { node, successor, read_at: None, cost, given_up: given_up.max(group) });
            }
            let cost = self.costs[column];
            if cost != NEVER && group.is_none_or(|group| group >= given_up) {
                steps.push(PathStep { node, successor, read_at: Some(cost), cost, given_up });
            }
        }
        steps
    }
}
