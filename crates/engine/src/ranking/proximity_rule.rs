//! Words nearer to each other come first.

use std::rc::Rc;

use super::costs::{CostRule, Rows};
use super::graph::{Graph, Node};
use super::lexicon::{Lexicon, Slot};
use super::score::{Rank, ScoreDetail};
use super::term::Classes;
use crate::error::Result;
use crate::postings::{DISTANCE_MAX, Occurrences};

/// A word costs by how far it stands from the one before it; the wrong way round costs one more.
///
/// Only words that follow one another in the query at once are compared. Joined words cost one less than
/// their number beforehand. Source: search-semantics §7.4.
pub(super) struct ProximityRule;

/// Places of a node, by which of them may also stand the wrong way round.
struct Side {
    all: Rc<Occurrences>,
    reversible: Rc<Occurrences>,
}

impl Side {
    fn new(lexicon: &Lexicon, node: &Node, slot: Slot, rows: &roaring::RoaringBitmap) -> Result<Self> {
        let term = lexicon.term(node);
        let mut side = Self { all: Rc::default(), reversible: Rc::default() };
        for class in node.classes.each() {
            let places = lexicon.places(node, class, slot, rows)?;
            let by_prefix = class == Classes::COMPLETIONS && term.completes_by_prefix();
            if term.phrases(class).is_empty() && !by_prefix {
                side.reversible = merged(&side.reversible, &places);
            }
            side.all = merged(&side.all, &places);
        }
        Ok(side)
    }
}

fn merged(known: &Rc<Occurrences>, more: &Rc<Occurrences>) -> Rc<Occurrences> {
    match (known.is_empty(), more.is_empty()) {
        (true, _) => Rc::clone(more),
        (_, true) => Rc::clone(known),
        _ => Rc::new(Occurrences::clone(known).merged(more)),
    }
}

fn joining(node: &Node) -> u32 {
    node.width() - 1
}

/// Whether nothing stands between the two in the query.
fn follows(from: Option<&Node>, to: &Node) -> bool {
    from.is_some_and(|from| from.positions.end() + 1 == *to.positions.start())
}

impl CostRule for ProximityRule {
    fn costs(&self, lexicon: &Lexicon, from: Option<&Node>, to: &Node, rows: &Rows) -> Result<Vec<u32>> {
        let matching = &*lexicon.node_docs(to)?;
        let Some(from) = from.filter(|from| follows(Some(from), to)) else {
            return Ok(rows.column(matching, joining(to)));
        };
        let mut column = rows.column(matching, joining(to) + u32::from(DISTANCE_MAX));
        let both = matching & &*lexicon.node_docs(from)? & rows.set();
        let left = Side::new(lexicon, from, Slot::Last, &both)?;
        let right = Side::new(lexicon, to, Slot::First, &both)?;
        if lexicon.postings.nearness_is_by_attribute() {
            rows.lower(&mut column, &left.all.sharing_attribute_with(&right.all), joining(to));
            return Ok(column);
        }
        let mut lower = |docid, cost| {
            if let Some(row) = rows.row(docid) {
                column[row] = column[row].min(joining(to) + cost);
            }
        };
        for (docid, distance) in left.all.distances_to(&right.all) {
            lower(docid, u32::from(distance) - 1);
        }
        for (docid, distance) in right.reversible.distances_to(&left.reversible) {
            lower(docid, u32::from(distance));
        }
        Ok(column)
    }

    fn cost_max(&self, _: &Lexicon, from: Option<&Node>, to: &Node) -> u32 {
        joining(to) + if follows(from, to) { u32::from(DISTANCE_MAX) } else { 0 }
    }

    fn looks_back(&self) -> bool {
        true
    }

    fn detail(&self, _: &Lexicon, _: &Graph, cost: u32, cost_max: u32) -> ScoreDetail {
        ScoreDetail::Proximity(Rank { rank: cost_max - cost + 1, max: cost_max + 1 })
    }
}
