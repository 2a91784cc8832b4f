//! A node of the query graph as one side of a pair of neighbouring words.

use std::rc::Rc;

use roaring::RoaringBitmap;

use super::graph::TermNode;
use super::resolver::{Slot, TermResolver};
use super::term::DerivationKinds;
use crate::error::Result;
use crate::postings::{Distances, Occurrences, Orders, PairSide, Side, SideOccurrences};

impl TermResolver<'_> {
    /// Returns the distances between two nodes that are neighbours in the query, in documents of `universe`.
    pub(crate) fn distances(
        &self,
        from: &TermNode,
        to: &TermNode,
        universe: &RoaringBitmap,
        orders: Orders,
    ) -> Result<Distances> {
        let left = NodeSide::new(self, from, Slot::Last);
        let right = NodeSide::new(self, to, Slot::First);
        self.postings.distances(&left, &right, universe, orders)
    }
}

/// A node next to another one in the query.
struct NodeSide<'a> {
    resolver: &'a TermResolver<'a>,
    node: &'a TermNode,
    /// The slot of a phrase that is next to the other node.
    slot: Slot,
    main: Option<Side>,
    reversible: Option<Side>,
    /// Kinds that `main` does not cover.
    others: DerivationKinds,
}

impl<'a> NodeSide<'a> {
    fn new(resolver: &'a TermResolver<'a>, node: &'a TermNode, slot: Slot) -> Self {
        let term = resolver.term(node);
        let (mut prefix, mut word, mut others) = (None, None, DerivationKinds::NONE);
        for kind in node.kinds.each() {
            match (term.words(kind), term.phrases(kind)) {
                _ if kind == DerivationKinds::PREFIX && term.prefix_docs().is_some() => {
                    prefix = Some(Side::Prefix(term.text.as_str().into()));
                }
                // The exact word comes first.
                ([only], []) if word.is_none() => word = Some((kind, Side::Word(only.text.clone()))),
                ([], []) => {}
                _ => others = others.or(kind),
            }
        }
        if let (Some(_), Some((kind, _))) = (&prefix, &word)
            && *kind != DerivationKinds::EXACT
        {
            // A prefix covers the exact word, but not a misspelling.
            others = others.or(*kind);
            word = None;
        }
        let word = word.map(|(_, word)| word);
        let reversible = prefix.clone().filter(|_| !term.completes_by_prefix());
        let reversible = reversible.or_else(|| word.clone());
        Self { resolver, node, slot, main: prefix.or(word), reversible, others }
    }
}

impl PairSide for NodeSide<'_> {
    fn main(&self) -> Option<&Side> {
        self.main.as_ref()
    }

    fn reversible(&self) -> Option<&Side> {
        self.reversible.as_ref()
    }

    fn other_docs(&self, universe: &RoaringBitmap) -> Result<RoaringBitmap> {
        self.resolver.docs_with_occurrences(self.node, self.others, universe)
    }

    /// Phrases and completions of a short, common prefix are not reversible.
    fn occurrences(&self, universe: &RoaringBitmap) -> Result<SideOccurrences> {
        let Self { resolver, node, slot, .. } = self;
        let term = resolver.term(node);
        let mut found = SideOccurrences::default();
        for kind in node.kinds.each() {
            let occurrences = resolver.occurrences(node, kind, *slot, universe)?;
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
