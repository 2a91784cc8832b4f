//! Words nearer to each other come first.

use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::costs::CostRule;
use super::graph::{Graph, Node};
use super::lexicon::{Lexicon, Slot};
use super::partition::Levels;
use super::score::{Rank, ScoreDetail};
use super::term::Classes;
use crate::error::Result;
use crate::postings::{DISTANCE_MAX, NEAR_DOCUMENTS_MIN, Occurrences};

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
    fn new(lexicon: &Lexicon, node: &Node, slot: Slot, docs: &RoaringBitmap) -> Result<Self> {
        let term = lexicon.term(node);
        let mut side = Self { all: Rc::default(), reversible: Rc::default() };
        for class in node.classes.each() {
            let places = lexicon.places(node, class, slot, docs)?;
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

/// Documents by what [`ProximityRule`] costs them, cheapest first; a document counts with its first.
type ByCost = [RoaringBitmap; DISTANCE_MAX as usize];

/// The costs of `both` by pairs kept for the whole index. None if there are none to be kept of what most of
/// these documents hold; what the others hold beside is read.
fn by_kept(lexicon: &Lexicon, from: &Node, to: &Node, both: &RoaringBitmap) -> Result<Option<ByCost>> {
    let (lefts, rights) = (lexicon.sides(from), lexicon.sides(to));
    let (Some(left), Some(right)) = (lefts.one, rights.one) else { return Ok(None) };
    let mut others = lexicon.docs_with_places(from, lefts.rest, both)?;
    others |= lexicon.docs_with_places(to, rights.rest, both)?;
    if others.len() * 2 > both.len() {
        return Ok(None);
    }
    let forward = lexicon.postings.near_docs(&left, &right)?;
    let mut near: ByCost = std::array::from_fn(|at| &forward[at] & both);
    if let (Some(left), Some(right)) = (lefts.reversible, rights.reversible) {
        let backward = lexicon.postings.near_docs(&right, &left)?;
        // The wrong way round costs one more.
        for (docs, backward) in near[1..].iter_mut().zip(&*backward) {
            *docs |= backward & both;
        }
    }
    if !others.is_empty() {
        let read = by_places(lexicon, from, to, &others)?;
        near.iter_mut().zip(read).for_each(|(docs, read)| *docs |= read);
    }
    Ok(Some(near))
}

/// The costs of `both`, read document by document.
fn by_places(lexicon: &Lexicon, from: &Node, to: &Node, both: &RoaringBitmap) -> Result<ByCost> {
    let left = Side::new(lexicon, from, Slot::Last, both)?;
    let right = Side::new(lexicon, to, Slot::First, both)?;
    let mut near: [Vec<u32>; DISTANCE_MAX as usize] = Default::default();
    for (docid, distance) in left.all.distances_to(&right.all) {
        near[usize::from(distance) - 1].push(docid);
    }
    for (docid, distance) in right.reversible.distances_to(&left.reversible) {
        if let Some(docids) = near.get_mut(usize::from(distance)) {
            docids.push(docid);
        }
    }
    Ok(near.map(|docids| docids.into_iter().collect()))
}

fn joining(node: &Node) -> u32 {
    node.width() - 1
}

/// Whether nothing stands between the two in the query.
fn follows(from: Option<&Node>, to: &Node) -> bool {
    from.is_some_and(|from| from.positions.end() + 1 == *to.positions.start())
}

impl CostRule for ProximityRule {
    fn levels(
        &self,
        lexicon: &Lexicon,
        from: Option<&Node>,
        to: &Node,
        universe: &RoaringBitmap,
        limit: u32,
    ) -> Result<Levels> {
        let matching = lexicon.node_docs(to)?;
        let Some(from) = from.filter(|from| follows(Some(from), to)) else {
            return Ok(vec![(joining(to), matching)]);
        };
        if limit < joining(to) {
            return Ok(Levels::new());
        }
        let both = &*matching & &*lexicon.node_docs(from)? & universe;
        let both = lexicon.sharing_attribute(from, to, &both)?;
        let apart = (joining(to) + u32::from(DISTANCE_MAX), matching);
        if lexicon.postings.nearness_is_by_attribute() {
            let left = Side::new(lexicon, from, Slot::Last, &both)?;
            let right = Side::new(lexicon, to, Slot::First, &both)?;
            let together = left.all.sharing_attribute_with(&right.all);
            return Ok(vec![(joining(to), Arc::new(together)), apart]);
        }
        let kept = match both.len() >= NEAR_DOCUMENTS_MIN {
            true => by_kept(lexicon, from, to, &both)?,
            false => None,
        };
        let near = kept.map_or_else(|| by_places(lexicon, from, to, &both), Ok)?;
        Ok((joining(to)..).zip(near.map(Arc::new)).chain([apart]).collect())
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
