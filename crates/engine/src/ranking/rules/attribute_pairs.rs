//! Here are two neighbouring nodes of the query: in which documents does one attribute hold a word of each?
//!
//! A pair of words is looked up once per search, among the documents that are in play at that moment, and every later
//! bucket gets that same answer: documents that come into play later do not have the pair, even if they hold both words
//! in one attribute. The two orders of a pair are looked up apart. Source: search §7.4, `proximityPrecision:
//! byAttribute`.

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::postings::FieldDocs;
use crate::query::{DerivationKinds, Slot, TermNode, TermResolver};

/// Which node of a pair is looked up first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PairOrder {
    /// The one that stands first in the query.
    Forward,
    /// The one that stands second; phrases have no such pairs.
    Backward,
}

/// The pairs of one search, with the documents among which each was looked up.
pub(super) struct AttributePairs<'a> {
    resolver: &'a TermResolver<'a>,
    universes: RefCell<FxHashMap<Pair, Arc<RoaringBitmap>>>,
}

/// Two words, or a word and a beginning of words, in the order in which they are looked up.
#[derive(PartialEq, Eq, Hash)]
struct Pair {
    first: Box<str>,
    second: Box<str>,
    second_is_prefix: bool,
}

/// One end of a pair.
struct PairEnd {
    /// The word, or the beginning that stands for all its completions.
    text: Box<str>,
    is_prefix: bool,
    docs: Arc<FieldDocs>,
    /// The documents of the phrase that the word ends or begins.
    phrase: Option<Arc<RoaringBitmap>>,
}

impl PairEnd {
    /// Whether any document of `universe` has it.
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

    /// Documents of `universe`, which are those in play, that have a pair of the two nodes.
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
            // A word that no document in play holds is paired only where there is no choice.
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

    /// The documents among which a pair was looked up first, `in_play` for a new pair; None: all of the index.
    fn universe(
        &self,
        first: &PairEnd,
        second: &PairEnd,
        in_play: &Arc<RoaringBitmap>,
    ) -> Option<Arc<RoaringBitmap>> {
        // The best split of a word or n-gram was chosen among all cuts of it, each looked up in the whole index.
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

    /// What a node may stand for as an end of a pair: its words, the phrases whose word at `slot` is no stop word, and a
    /// short beginning with all its completions. Looked up backward, a beginning stands for itself alone.
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
