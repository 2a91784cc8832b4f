//! Words nearer to each other come first.

use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::costs::{ALL, CostRule};
use super::graph::{Graph, Node};
use super::lexicon::{Lexicon, Slot};
use super::partition::Levels;
use super::rows::{Column, Prices, Rows};
use super::score::{Rank, ScoreDetail};
use super::term::Classes;
use crate::error::Result;
use crate::postings::{ByDistance, DISTANCE_MAX, NEAR_DOCUMENTS_MIN, Occurrences, Orders, Side};

/// A word costs by how far it stands from the one before it; the wrong way round costs one more.
///
/// Only words that follow one another in the query at once are compared. Joined words cost one less than
/// their number beforehand. Source: search-semantics §7.4.
pub(super) struct ProximityRule;

/// Places of a node, by which of them may also stand the wrong way round.
struct Standing {
    all: Rc<Occurrences>,
    reversible: Rc<Occurrences>,
}

impl Standing {
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

/// Where one side follows the other, in any document.
type Near = Arc<ByDistance>;

/// The costs of `both` by pairs kept for the whole index, if `kept` has them; those above `limit` may be left out. None if
/// there are none to be kept of what most of these documents hold; what the others hold beside is read.
fn by_kept(
    lexicon: &Lexicon,
    from: &Node,
    to: &Node,
    both: &RoaringBitmap,
    limit: u32,
    kept: impl Fn(&Side, &Side, Orders) -> Result<Option<Near>>,
) -> Result<Option<ByCost>> {
    let (lefts, rights) = (lexicon.sides(from), lexicon.sides(to));
    let (Some(left), Some(right)) = (lefts.one, rights.one) else { return Ok(None) };
    let mut others = lexicon.docs_with_places(from, lefts.rest, both)?;
    others |= lexicon.docs_with_places(to, rights.rest, both)?;
    if others.len() * 2 > both.len() {
        return Ok(None);
    }
    let both_ways = lefts.reversible.as_ref() == Some(&left) && rights.reversible.as_ref() == Some(&right);
    let orders = if both_ways { Orders::Both } else { Orders::Forward };
    let Some(forward) = kept(&left, &right, orders)? else { return Ok(None) };
    let asked = (limit as usize).saturating_add(1).min(forward.len());
    let mut near = ByCost::default();
    for (docs, forward) in near[..asked].iter_mut().zip(&*forward) {
        *docs = forward & both;
    }
    if let (1.., Some(left), Some(right)) = (limit, lefts.reversible, rights.reversible) {
        let Some(backward) = kept(&right, &left, Orders::Forward)? else { return Ok(None) };
        // The wrong way round costs one more.
        for (docs, backward) in near[1..asked].iter_mut().zip(&*backward) {
            *docs |= backward & both;
        }
    }
    if !others.is_empty() {
        let read = by_places(lexicon, from, to, &others)?;
        near.iter_mut().zip(read).for_each(|(docs, read)| *docs |= read);
    }
    Ok(Some(near))
}

/// Calls `take` with documents of `both` and what they cost, read document by document; one may come several times.
fn each_by_places(
    lexicon: &Lexicon,
    from: &Node,
    to: &Node,
    both: &RoaringBitmap,
    mut take: impl FnMut(u32, u32),
) -> Result<()> {
    let left = Standing::new(lexicon, from, Slot::Last, both)?;
    let right = Standing::new(lexicon, to, Slot::First, both)?;
    for (docid, distance) in left.all.distances_to(&right.all) {
        take(docid, u32::from(distance) - 1);
    }
    for (docid, distance) in right.reversible.distances_to(&left.reversible) {
        if distance < DISTANCE_MAX {
            take(docid, u32::from(distance));
        }
    }
    Ok(())
}

fn by_places(lexicon: &Lexicon, from: &Node, to: &Node, both: &RoaringBitmap) -> Result<ByCost> {
    let mut near: [Vec<u32>; DISTANCE_MAX as usize] = Default::default();
    each_by_places(lexicon, from, to, both, |docid, cost| near[cost as usize].push(docid))?;
    Ok(near.map(|docids| docids.into_iter().collect()))
}

/// Documents of `universe` where the two may be near one another.
fn may_be_near(lexicon: &Lexicon, from: &Node, to: &Node, universe: &RoaringBitmap) -> Result<RoaringBitmap> {
    let mut both = universe & &*lexicon.node_docs(to)?;
    both &= &*lexicon.node_docs(from)?;
    lexicon.sharing_attribute(from, to, &both)
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
        let both = may_be_near(lexicon, from, to, universe)?;
        let apart = (joining(to) + u32::from(DISTANCE_MAX), matching);
        if lexicon.postings.nearness_is_by_attribute() {
            let left = Standing::new(lexicon, from, Slot::Last, &both)?;
            let right = Standing::new(lexicon, to, Slot::First, &both)?;
            let together = left.all.sharing_attribute_with(&right.all);
            return Ok(vec![(joining(to), Arc::new(together)), apart]);
        }
        let kept = by_kept(lexicon, from, to, &both, limit - joining(to), |left, right, orders| {
            match both.len() >= NEAR_DOCUMENTS_MIN {
                true => lexicon.postings.near_docs(left, right, orders).map(Some),
                false => lexicon.postings.near_docs_if_cheap(left, right, orders, both.len()),
            }
        })?;
        let near = kept.map_or_else(|| by_places(lexicon, from, to, &both), Ok)?;
        Ok((joining(to)..).zip(near.map(Arc::new)).chain([apart]).collect())
    }

    fn column<'r>(
        &self,
        lexicon: &Lexicon,
        from: Option<&Node>,
        to: &Node,
        rows: &'r Rows<'r>,
    ) -> Result<Column<'r>> {
        let neighbour = from.filter(|from| follows(Some(from), to));
        let Some(from) = neighbour.filter(|_| !lexicon.postings.nearness_is_by_attribute()) else {
            return Ok(rows.column_of(&self.levels(lexicon, from, to, rows.set(), ALL)?));
        };
        let mut column = rows.column();
        column.all(&*lexicon.node_docs(to)?, joining(to) + u32::from(DISTANCE_MAX));
        let both = may_be_near(lexicon, from, to, rows.set())?;
        if both.is_empty() {
            return Ok(column);
        }
        let if_cheap = |left: &Side, right: &Side, orders| {
            lexicon.postings.near_docs_if_cheap(left, right, orders, both.len())
        };
        match by_kept(lexicon, from, to, &both, ALL, if_cheap)? {
            Some(near) => (joining(to)..).zip(&near).for_each(|(cost, docs)| column.all(docs, cost)),
            None => each_by_places(lexicon, from, to, &both, |docid, cost| {
                column.one(docid, joining(to) + cost);
            })?,
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
