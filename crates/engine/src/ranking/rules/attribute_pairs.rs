//! Finds the documents in which one attribute contains a word of each of two neighbouring query nodes.
//!
//! A pair of words is looked up once per search, among the documents in play at that moment. Later buckets reuse this
//! answer: a document that comes into play later does not have the pair, even if one attribute contains both words. The
//! two orders of a pair are looked up separately. Source: search §7.4, `proximityPrecision: byAttribute`.

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::postings::FieldDocs;
use crate::query::{DerivationKinds, Slot, TermNode, TermResolver};

/// Tells which node of a pair is looked up first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PairOrder {
    /// The node that comes first in the query.
    Forward,
    /// The node that comes second; phrases have no such pairs.
    Backward,
}

/// The pairs of a search, with the documents among which each was looked up.
pub(super) struct AttributePairs<'a> {
    resolver: &'a TermResolver<'a>,
    universes: RefCell<FxHashMap<Pair, Arc<RoaringBitmap>>>,
}

/// Two words, or a word and a prefix, in the order of the lookup.
#[derive(PartialEq, Eq, Hash)]
struct Pair {
    first: Box<str>,
    second: Box<str>,
    second_is_prefix: bool,
}

/// An end of a pair.
struct PairEnd {
    /// The word, or the prefix that stands for all its completions.
    text: Box<str>,
    is_prefix: bool,
    docs: Arc<FieldDocs>,
    /// Documents of the phrase that the word ends or begins.
    phrase: Option<Arc<RoaringBitmap>>,
}

impl PairEnd {
    /// Returns true if a document of `universe` contains it.
    fn is_in(&self, universe: &RoaringBitmap) -> bool {
        match &self.phrase {
            Some(phrase) => !phrase.is_disjoint(universe),
            None => self.docs.fields().any(|(_, docs)| !docs.is_disjoint(universe)),
        }
    }
}

impl<'a> AttributePairs<'a> {
    pub(super) fn new(resolver: &'a TermResolver<'a>) -> Self {
        Self { resolver, universes: RefCell::default() }
    }

    /// Returns the documents of `universe`, the documents in play, that have a pair of the two nodes.
    pub(super) fn sharing_attribute(
        &self,
        from: &TermNode,
        to: &TermNode,
        order: PairOrder,
        universe: &Arc<RoaringBitmap>,
    ) -> Result<RoaringBitmap> {
        let lefts = self.ends(from, Slot::Last, PairOrder::Forward)?;
        let rights = self.ends(to, Slot::First, order)?;
        let has_choice = rights.iter().filter(|right| !right.is_prefix).count() > 1;
        let mut found = RoaringBitmap::new();
        for left in &lefts {
            // With several words on the right, a left word without a document in play is not paired.
            if has_choice && !left.is_in(universe) {
                continue;
            }
            for right in &rights {
                if order == PairOrder::Backward && (left.phrase.is_some() || right.phrase.is_some()) {
                    continue;
                }
                let mut in_play = Arc::clone(universe);
                for phrase in [left, right].into_iter().filter_map(|end| end.phrase.as_ref()) {
                    in_play = Arc::new(&*in_play & &**phrase);
                }
                let has_phrase = left.phrase.is_some() || right.phrase.is_some();
                if has_phrase && in_play.is_empty() {
                    continue;
                }
                let looked_up = match order {
                    PairOrder::Forward => self.universe(left, right, &in_play),
                    PairOrder::Backward => self.universe(right, left, &in_play),
                };
                for (field, docs) in left.docs.fields() {
                    let Some(others) = right.docs.in_field(field) else { continue };
                    let mut shared = docs & others;
                    shared &= &*in_play;
                    if let Some(looked_up) = &looked_up {
                        shared &= &**looked_up;
                    }
                    found |= shared;
                }
            }
        }
        Ok(found)
    }

    /// Returns the documents among which a pair was first looked up, `in_play` for a new pair. None: the complete
    /// index.
    fn universe(
        &self,
        first: &PairEnd,
        second: &PairEnd,
        in_play: &Arc<RoaringBitmap>,
    ) -> Option<Arc<RoaringBitmap>> {
        // The best split of a word or n-gram was chosen among all its splits, each looked up in the complete index.
        let is_cut = |text: &str| {
            text.len() == first.text.len() + second.text.len()
                && text.starts_with(&*first.text)
                && text.ends_with(&*second.text)
        };
        if !second.is_prefix && self.resolver.terms().iter().any(|term| is_cut(&term.text)) {
            return None;
        }
        let pair = Pair {
            first: first.text.clone(),
            second: second.text.clone(),
            second_is_prefix: second.is_prefix,
        };
        match self.universes.borrow_mut().entry(pair) {
            Entry::Occupied(known) => Some(Arc::clone(known.get())),
            Entry::Vacant(new) => Some(Arc::clone(new.insert(Arc::clone(in_play)))),
        }
    }

    /// Returns the words, phrases and prefixes of a node as ends of a pair. A phrase needs a word (no stop word) at
    /// `slot`. A short prefix stands for all its completions; looked up backward, only for itself.
    fn ends(&self, node: &TermNode, slot: Slot, order: PairOrder) -> Result<Vec<PairEnd>> {
        let Self { resolver, .. } = self;
        let postings = resolver.postings;
        let term = resolver.term(node);
        let mut ends = Vec::new();
        for kind in node.kinds.each() {
            for word in term.words(kind) {
                let docs = postings.word_docs(word)?;
                ends.push(PairEnd { text: (&*word.text).into(), is_prefix: false, docs, phrase: None });
            }
            for phrase in term.phrases(kind) {
                let Some(word) = resolver.slot_word(phrase, slot)? else { continue };
                let (docs, phrase) = (postings.word_docs(&word)?, Some(resolver.phrase_docs(phrase)?));
                ends.push(PairEnd { text: (&*word.text).into(), is_prefix: false, docs, phrase });
            }
        }
        if let (true, true, Some(docs)) =
            (node.kinds.meets(DerivationKinds::PREFIX), term.completes_by_prefix(), term.prefix_docs())
        {
            let text: Box<str> = term.text.as_str().into();
            match (order, term.exact()) {
                (PairOrder::Forward, _) => {
                    ends.push(PairEnd { text, is_prefix: true, docs: Arc::clone(docs), phrase: None });
                }
                (PairOrder::Backward, Some(word)) => {
                    let docs = postings.word_docs(word)?;
                    ends.push(PairEnd { text, is_prefix: false, docs, phrase: None });
                }
                (PairOrder::Backward, None) => {}
            }
        }
        Ok(ends)
    }
}
