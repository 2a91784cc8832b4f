//! Here is a node of the query graph: which documents match it, and where?
//!
//! Everything is decoded once per query: documents by (term, class), places by (term, class) for the
//! greatest universe that asked for them.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::graph::{Graph, Node};
use super::query::Slots;
use super::rows::Prices;
use super::term::{self, Classes, Term};
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::{FieldDocs, Occurrences, Postings, Reading, Side, Word, bucketed};

/// The terms of one query and what is known of them.
pub(super) struct Lexicon<'a> {
    pub(super) postings: &'a Postings,
    terms: Vec<Term>,
    /// Fields the request searches, ascending; None: all searchable ones.
    within: Option<&'a [FieldId]>,
    /// Documents anything is asked about.
    universe: Arc<RoaringBitmap>,
    /// It is all documents.
    is_whole: bool,
    docs: RefCell<FxHashMap<(usize, Classes), Arc<RoaringBitmap>>>,
    fields: RefCell<FxHashMap<(usize, Classes), Arc<FieldDocs>>>,
    phrases: RefCell<FxHashMap<Slots, Arc<RoaringBitmap>>>,
    places: RefCell<FxHashMap<(usize, Classes, Slot), Rc<KnownPlaces>>>,
}

/// Which word of a phrase stands for its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    /// The first slot, if it is a word.
    First,
    /// The last slot, if it is a word.
    Last,
    /// The first slot that is a word.
    FirstWord,
}

/// A node as one side of a pair of words.
pub(super) struct Sides {
    /// A word or a beginning that covers all classes but those of `rest`; None if none does.
    pub(super) one: Option<Side>,
    /// The part of it that may also stand the wrong way round.
    pub(super) reversible: Option<Side>,
    /// Classes that neither covers.
    pub(super) rest: Classes,
}

struct KnownPlaces {
    universe: RoaringBitmap,
    occurrences: Rc<Occurrences>,
}

impl<'a> Lexicon<'a> {
    pub(super) fn new(
        postings: &'a Postings,
        terms: Vec<Term>,
        within: Option<&'a [FieldId]>,
        universe: Arc<RoaringBitmap>,
    ) -> Self {
        let is_whole = universe.len() == postings.snapshot().documents().len();
        Self {
            postings,
            terms,
            within,
            universe,
            is_whole,
            docs: RefCell::default(),
            fields: RefCell::default(),
            phrases: RefCell::default(),
            places: RefCell::default(),
        }
    }

    /// Whether the request looks for words in `field`.
    pub(super) fn searches(&self, field: FieldId) -> bool {
        self.within.is_none_or(|fields| fields.binary_search(&field).is_ok())
    }

    pub(super) fn term(&self, node: &Node) -> &Term {
        &self.terms[node.term]
    }

    pub(super) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Documents that match the node by any of its classes.
    pub(super) fn node_docs(&self, node: &Node) -> Result<Arc<RoaringBitmap>> {
        let key = (node.term, node.classes);
        if let Some(known) = self.docs.borrow().get(&key) {
            return Ok(Arc::clone(known));
        }
        let mut docs = self.words_docs(node)?;
        for class in node.classes.each() {
            for phrase in self.term(node).phrases(class) {
                *Arc::make_mut(&mut docs) |= &*self.phrase_docs(phrase)?;
            }
        }
        self.docs.borrow_mut().insert(key, Arc::clone(&docs));
        Ok(docs)
    }

    /// Documents that match the node by a word.
    fn words_docs(&self, node: &Node) -> Result<Arc<RoaringBitmap>> {
        let term = self.term(node);
        if self.within.is_none() {
            let docs = term.matching(node.classes, self.postings)?;
            return Ok(if self.is_whole { docs } else { Arc::new(&*docs & &*self.universe) });
        }
        let mut docs = RoaringBitmap::new();
        for class in node.classes.each().filter(|class| term.has_words(*class)) {
            let reading = Reading { forgiving: term.is_forgiven(class), within: self.within };
            let fields = self.fields(node.term, class)?;
            docs |= fields.matching_in(&self.universe, reading, self.postings.searchable());
        }
        Ok(Arc::new(docs))
    }

    /// Documents of the words of a class, field by field, over the whole index.
    fn fields(&self, term: usize, class: Classes) -> Result<Arc<FieldDocs>> {
        if let Some(known) = self.fields.borrow().get(&(term, class)) {
            return Ok(Arc::clone(known));
        }
        let docs = self.terms[term].docs(class, self.postings)?;
        self.fields.borrow_mut().insert((term, class), Arc::clone(&docs));
        Ok(docs)
    }

    /// Documents of the universe that hold a phrase.
    pub(super) fn phrase_docs(&self, phrase: &Slots) -> Result<Arc<RoaringBitmap>> {
        if let Some(known) = self.phrases.borrow().get(phrase) {
            return Ok(Arc::clone(known));
        }
        let docs = if self.is_whole && self.within.is_none() {
            term::phrase_docs(self.postings, phrase)?
        } else {
            let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
            let reading = Reading { forgiving: false, within: self.within };
            Arc::new(self.postings.phrase_docs(&slots, reading, &self.universe)?)
        };
        self.phrases.borrow_mut().insert(phrase.clone(), Arc::clone(&docs));
        Ok(docs)
    }

    /// Calls `visit` with fields and documents of `universe` that match the node there. A document may come
    /// several times. A phrase counts for the fields its first word is in.
    pub(super) fn visit_fields(
        &self,
        node: &Node,
        universe: &RoaringBitmap,
        mut visit: impl FnMut(FieldId, RoaringBitmap),
    ) -> Result<()> {
        for class in node.classes.each() {
            if self.term(node).has_words(class) {
                for (field, docs) in
                    self.fields(node.term, class)?.fields().filter(|(field, _)| self.searches(*field))
                {
                    visit(field, docs & universe);
                }
            }
            for phrase in self.term(node).phrases(class) {
                let Some(word) = self.slot_word(phrase, Slot::FirstWord)? else { continue };
                let docs = &*self.phrase_docs(phrase)? & universe;
                if docs.is_empty() {
                    continue;
                }
                let fields: Arc<FieldDocs> = self.postings.word_docs(&word)?;
                for (field, in_field) in fields.fields().filter(|(field, _)| self.searches(*field)) {
                    visit(field, in_field & &docs);
                }
            }
        }
        Ok(())
    }

    /// Documents of `universe` in an attribute of which both nodes may stand: no others can be near.
    pub(super) fn sharing_attribute(
        &self,
        left: &Node,
        right: &Node,
        universe: &RoaringBitmap,
    ) -> Result<RoaringBitmap> {
        let (lefts, rights) = (self.all_fields(left)?, self.all_fields(right)?);
        let mut shared = RoaringBitmap::new();
        for left in &lefts {
            for (field, left_docs) in left.fields() {
                let mut docs = None;
                for right_docs in rights.iter().filter_map(|right| right.in_field(field)) {
                    shared |= &*docs.get_or_insert_with(|| left_docs & universe) & right_docs;
                    if shared.len() == universe.len() {
                        return Ok(shared);
                    }
                }
            }
        }
        Ok(shared)
    }

    /// Documents of the words a node may stand on, phrases by any word that may tell their place.
    fn all_fields(&self, node: &Node) -> Result<Vec<Arc<FieldDocs>>> {
        let mut fields = Vec::new();
        for class in node.classes.each() {
            if self.term(node).has_words(class) {
                fields.push(self.fields(node.term, class)?);
            }
            for text in self.term(node).phrases(class).iter().flatten().flatten() {
                if let Some(word) = self.postings.word(text)? {
                    fields.push(self.postings.word_docs(&word)?);
                }
            }
        }
        Ok(fields)
    }

    /// What a node may stand on as one side of a pair of words.
    pub(super) fn sides(&self, node: &Node) -> Sides {
        let term = self.term(node);
        let (mut prefix, mut word, mut rest) = (None, None, Classes::NONE);
        for class in node.classes.each() {
            match (term.words(class), term.phrases(class)) {
                _ if class == Classes::COMPLETIONS && term.prefix_docs().is_some() => {
                    prefix = Some(Side::Prefix(term.text.as_str().into()));
                }
                // What was asked for comes first.
                ([only], []) if word.is_none() => word = Some((class, Side::Word(only.text.clone()))),
                ([], []) => {}
                _ => rest = rest.or(class),
            }
        }
        if let (Some(_), Some((class, _))) = (&prefix, &word)
            && *class != Classes::EXACT
        {
            // A beginning covers the word that was asked for, not a misspelt one.
            rest = rest.or(*class);
            word = None;
        }
        let word = word.map(|(_, word)| word);
        let reversible = prefix.clone().filter(|_| !term.completes_by_prefix());
        let reversible = reversible.or_else(|| word.clone());
        Sides { one: prefix.or(word), reversible, rest }
    }

    /// Documents of `universe` that may hold places of some classes of a node.
    pub(super) fn docs_with_places(
        &self,
        node: &Node,
        classes: Classes,
        universe: &RoaringBitmap,
    ) -> Result<RoaringBitmap> {
        let mut docs = RoaringBitmap::new();
        for class in classes.each() {
            if self.term(node).has_words(class) {
                for (_, in_field) in self.fields(node.term, class)?.fields() {
                    docs |= in_field & universe;
                }
            }
            for phrase in self.term(node).phrases(class) {
                docs |= &*self.phrase_docs(phrase)? & universe;
            }
        }
        Ok(docs)
    }

    /// Places of a class of the node in `universe`, phrases by one of their words.
    pub(super) fn places(
        &self,
        node: &Node,
        class: Classes,
        slot: Slot,
        universe: &RoaringBitmap,
    ) -> Result<Rc<Occurrences>> {
        let slot = if self.term(node).phrases(class).is_empty() { Slot::First } else { slot };
        let key = (node.term, class, slot);
        let known = self.places.borrow().get(&key).cloned();
        if let Some(known) = known.filter(|known| universe.is_subset(&known.universe)) {
            return Ok(if universe.len() == known.universe.len() {
                Rc::clone(&known.occurrences)
            } else {
                Rc::new(known.occurrences.within(universe))
            });
        }
        let mut occurrences = match self.term(node).prefix_docs() {
            Some(_) if class == Classes::COMPLETIONS => {
                self.postings.prefix_occurrences(&self.term(node).text, universe)?
            }
            _ => match self.term(node).places(class, self.postings, universe)? {
                Some(kept) => kept.within(universe),
                None => self.postings.occurrences(self.term(node).words(class).iter(), universe)?,
            },
        };
        for phrase in self.term(node).phrases(class) {
            let Some(word) = self.slot_word(phrase, slot)? else { continue };
            let docs = &*self.phrase_docs(phrase)? & universe;
            occurrences = occurrences.merged(&self.postings.occurrences([&word].into_iter(), &docs)?);
        }
        let occurrences = Rc::new(occurrences);
        let known = KnownPlaces { universe: universe.clone(), occurrences: Rc::clone(&occurrences) };
        self.places.borrow_mut().insert(key, Rc::new(known));
        Ok(occurrences)
    }

    /// Says what the places of the node cost documents of `universe`, and perhaps others; those of phrases by their first
    /// word. `cost` is given bucketed positions; None: it does not matter which documents those are.
    pub(super) fn position_costs(
        &self,
        node: &Node,
        universe: &RoaringBitmap,
        cost: impl Fn(u32) -> Option<u32>,
        prices: &mut impl Prices,
    ) -> Result<()> {
        let term = self.term(node);
        for class in node.classes.each() {
            let words = term.words(class);
            let is_prefix = class == Classes::COMPLETIONS && term.prefix_docs().is_some();
            let kept = match words {
                _ if is_prefix => {
                    let expected = *node.positions.start();
                    self.postings.prefix_positions(&term.text, expected, universe)?
                }
                [word] => self.postings.word_positions(word, universe)?,
                _ => None,
            };
            if let Some(kept) = &kept {
                let by_position = kept.iter().filter_map(|(position, docs)| Some((cost(position)?, docs)));
                let mut cheapest_first: Vec<(u32, &RoaringBitmap)> = by_position.collect();
                cheapest_first.sort_by_key(|(cost, _)| *cost);
                cheapest_first.into_iter().for_each(|(cost, docs)| prices.all(docs, cost));
            }
            let mut read = |docid, _, positions: &[u32]| {
                if let Some(least) = positions.iter().filter_map(|&position| cost(bucketed(position))).min() {
                    prices.one(docid, least);
                }
            };
            match kept {
                Some(_) => {}
                None if is_prefix => self.postings.visit_prefix(&term.text, universe, &mut read)?,
                None => match term.places(class, self.postings, universe)? {
                    Some(kept) => kept.visit_within(universe, &mut read),
                    None => self.postings.visit_positions(words.iter(), universe, &mut read)?,
                },
            }
            for phrase in term.phrases(class) {
                let Some(word) = self.slot_word(phrase, Slot::FirstWord)? else { continue };
                let docs = &*self.phrase_docs(phrase)? & universe;
                self.postings.visit_positions([&word].into_iter(), &docs, &mut read)?;
            }
        }
        Ok(())
    }

    fn slot_word(&self, phrase: &Slots, slot: Slot) -> Result<Option<Word>> {
        let text = match slot {
            Slot::First => phrase.first().and_then(Option::as_deref),
            Slot::Last => phrase.last().and_then(Option::as_deref),
            Slot::FirstWord => phrase.iter().flatten().next().map(String::as_str),
        };
        text.map_or(Ok(None), |text| self.postings.word(text))
    }

    /// Documents of the universe that match at least one way of reading the query, where nodes that are
    /// `optional` may be passed over.
    pub(super) fn match_set(
        &self,
        graph: &Graph,
        optional: impl Fn(usize) -> bool,
    ) -> Result<Arc<RoaringBitmap>> {
        /// Documents that match the rest of the query; None: all.
        type Rest = Option<Arc<RoaringBitmap>>;
        // From the end backwards, after each node.
        let mut rest: Vec<Rest> = vec![None; graph.len()];
        let onward = |from: Option<usize>, rest: &[Rest]| -> Result<Rest> {
            if graph.after(from).is_empty() {
                return Ok(None);
            }
            let mut docs = None;
            for &to in graph.after(from) {
                let by_this = match (optional(to), &rest[to]) {
                    (true, None) => return Ok(None),
                    (true, Some(rest)) => Arc::clone(rest),
                    (false, None) => self.node_docs(graph.node(to))?,
                    (false, Some(rest)) => Arc::new(&*self.node_docs(graph.node(to))? & &**rest),
                };
                match &mut docs {
                    Some(docs) => *Arc::make_mut(docs) |= &*by_this,
                    None => docs = Some(by_this),
                }
            }
            Ok(docs)
        };
        for node in graph.backwards() {
            rest[node] = onward(Some(node), &rest)?;
        }
        Ok(onward(None, &rest)?.unwrap_or_else(|| Arc::clone(&self.universe)))
    }

    /// How many documents of the universe match any node over each query term.
    pub(super) fn frequencies(&self, graph: &Graph) -> Result<FxHashMap<usize, u64>> {
        let mut docs: FxHashMap<usize, RoaringBitmap> = FxHashMap::default();
        for (_, node) in graph.nodes() {
            let matching = self.node_docs(node)?;
            for id in RangeInclusive::clone(&node.ids) {
                *docs.entry(id).or_default() |= &*matching;
            }
        }
        Ok(docs.into_iter().map(|(id, docs)| (id, docs.len())).collect())
    }
}
