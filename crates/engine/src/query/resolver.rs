//! Finds the documents and occurrences of nodes of the query graph.
//!
//! Each result is decoded once per query: documents by (term, kind), and occurrences by (term, kind) for the largest
//! universe requested so far.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::cache;
use super::graph::{QueryGraph, TermNode};
use super::parse::Slots;
use super::term::{DerivationKinds, Term};
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::{FieldDocs, Occurrences, Postings, Reading, Word};

/// The terms of a query and their derivations.
pub(crate) struct TermResolver<'a> {
    pub(crate) postings: &'a Postings,
    terms: Vec<Term>,
    /// Fields the request searches, ascending; None: all searchable ones.
    pub(super) within: Option<&'a [FieldId]>,
    /// Results are limited to these documents.
    universe: Arc<RoaringBitmap>,
    /// True if `universe` holds all documents.
    is_whole: bool,
    docs: RefCell<FxHashMap<(usize, DerivationKinds), Arc<RoaringBitmap>>>,
    fields: RefCell<FxHashMap<(usize, DerivationKinds), Arc<FieldDocs>>>,
    phrases: RefCell<FxHashMap<Slots, Arc<RoaringBitmap>>>,
    occurrences: RefCell<FxHashMap<(usize, DerivationKinds, Slot), Rc<CachedOccurrences>>>,
}

/// The slot that gives the position of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    /// The first slot, if it is a word.
    First,
    /// The last slot, if it is a word.
    Last,
    /// The first slot that is a word.
    FirstWord,
}

/// Occurrences of a kind of a term in the documents of `universe`.
struct CachedOccurrences {
    universe: RoaringBitmap,
    occurrences: Rc<Occurrences>,
}

impl<'a> TermResolver<'a> {
    pub(crate) fn new(
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
            occurrences: RefCell::default(),
        }
    }

    /// Returns true if the request searches `field`.
    pub(crate) fn searches(&self, field: FieldId) -> bool {
        self.within.is_none_or(|fields| fields.binary_search(&field).is_ok())
    }

    /// Returns the fields that the request searches; None: all searchable ones.
    pub(crate) fn within(&self) -> Option<&'a [FieldId]> {
        self.within
    }

    pub(crate) fn term(&self, node: &TermNode) -> &Term {
        &self.terms[node.term]
    }

    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns the documents that match the node by any of its kinds.
    pub(crate) fn node_docs(&self, node: &TermNode) -> Result<Arc<RoaringBitmap>> {
        let key = (node.term, node.kinds);
        if let Some(known) = self.docs.borrow().get(&key) {
            return Ok(Arc::clone(known));
        }
        let mut docs = self.words_docs(node)?;
        for kind in node.kinds.each() {
            for phrase in self.term(node).phrases(kind) {
                *Arc::make_mut(&mut docs) |= &*self.phrase_docs(phrase)?;
            }
        }
        self.docs.borrow_mut().insert(key, Arc::clone(&docs));
        Ok(docs)
    }

    /// Returns the documents that match the node by a word.
    fn words_docs(&self, node: &TermNode) -> Result<Arc<RoaringBitmap>> {
        let term = self.term(node);
        if self.within.is_none() {
            let docs = term.matching(node.kinds, self.postings)?;
            return Ok(if self.is_whole { docs } else { Arc::new(&*docs & &*self.universe) });
        }
        let mut docs = RoaringBitmap::new();
        for kind in node.kinds.each().filter(|kind| term.has_words(*kind)) {
            let reading = Reading { forgiving: term.is_forgiven(kind), within: self.within };
            let fields = self.fields(node.term, kind)?;
            docs |= fields.matching_in(&self.universe, reading, self.postings.searchable());
        }
        Ok(Arc::new(docs))
    }

    /// Returns the documents of the words of a kind by field, in the complete index.
    fn fields(&self, term: usize, kind: DerivationKinds) -> Result<Arc<FieldDocs>> {
        if let Some(known) = self.fields.borrow().get(&(term, kind)) {
            return Ok(Arc::clone(known));
        }
        let docs = self.terms[term].docs(kind, self.postings)?;
        self.fields.borrow_mut().insert((term, kind), Arc::clone(&docs));
        Ok(docs)
    }

    /// Returns the documents of the universe with a phrase.
    pub(crate) fn phrase_docs(&self, phrase: &Slots) -> Result<Arc<RoaringBitmap>> {
        if let Some(known) = self.phrases.borrow().get(phrase) {
            return Ok(Arc::clone(known));
        }
        let docs = if self.is_whole {
            self.phrase_docs_of_index(phrase)?
        } else {
            let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
            let reading = Reading { forgiving: false, within: self.within };
            Arc::new(self.postings.phrase_docs(&slots, reading, &self.universe)?)
        };
        self.phrases.borrow_mut().insert(phrase.clone(), Arc::clone(&docs));
        Ok(docs)
    }

    /// Returns the documents of the complete index with a phrase.
    pub(crate) fn phrase_docs_of_index(&self, phrase: &Slots) -> Result<Arc<RoaringBitmap>> {
        if self.within.is_none() {
            return cache::phrase_docs(self.postings, phrase);
        }
        let slots: Vec<Option<&str>> = phrase.iter().map(Option::as_deref).collect();
        let reading = Reading { forgiving: false, within: self.within };
        Ok(Arc::new(self.postings.phrase_docs(&slots, reading, self.postings.snapshot().documents())?))
    }

    /// Calls `visit` with each field and the documents that match the node in it, in the complete index. A document may
    /// come several times. A phrase counts for the fields of its first word.
    pub(crate) fn visit_fields(
        &self,
        node: &TermNode,
        mut visit: impl FnMut(FieldId, &RoaringBitmap),
    ) -> Result<()> {
        for kind in node.kinds.each() {
            if self.term(node).has_words(kind) {
                let fields = self.fields(node.term, kind)?;
                let searched = fields.fields().filter(|(field, _)| self.searches(*field));
                searched.for_each(|(field, docs)| visit(field, docs));
            }
            for phrase in self.term(node).phrases(kind) {
                let Some(word) = self.slot_word(phrase, Slot::FirstWord)? else { continue };
                let docs = self.phrase_docs(phrase)?;
                if docs.is_empty() {
                    continue;
                }
                let fields: Arc<FieldDocs> = self.postings.word_docs(&word)?;
                for (field, in_field) in fields.fields().filter(|(field, _)| self.searches(*field)) {
                    visit(field, &(in_field & &*docs));
                }
            }
        }
        Ok(())
    }

    /// Returns documents of `universe` that may contain both nodes in one attribute: only these can have them near each
    /// other.
    pub(crate) fn sharing_attribute(
        &self,
        left: &TermNode,
        right: &TermNode,
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

    /// Returns the documents of the words of a node by field; a phrase counts with all its words.
    fn all_fields(&self, node: &TermNode) -> Result<Vec<Arc<FieldDocs>>> {
        let mut fields = Vec::new();
        for kind in node.kinds.each() {
            if self.term(node).has_words(kind) {
                fields.push(self.fields(node.term, kind)?);
            }
            for text in self.term(node).phrases(kind).iter().flatten().flatten() {
                if let Some(word) = self.postings.word(text)? {
                    fields.push(self.postings.word_docs(&word)?);
                }
            }
        }
        Ok(fields)
    }

    /// Returns documents of `universe` in which `kinds` of a node may occur.
    pub(super) fn docs_with_occurrences(
        &self,
        node: &TermNode,
        kinds: DerivationKinds,
        universe: &RoaringBitmap,
    ) -> Result<RoaringBitmap> {
        let mut docs = RoaringBitmap::new();
        for kind in kinds.each() {
            if self.term(node).has_words(kind) {
                for (_, in_field) in self.fields(node.term, kind)?.fields() {
                    docs |= in_field & universe;
                }
            }
            for phrase in self.term(node).phrases(kind) {
                docs |= &*self.phrase_docs(phrase)? & universe;
            }
        }
        Ok(docs)
    }

    /// Returns the occurrences of a kind of the node in `universe`; `slot` selects the word that gives the position of
    /// a phrase.
    pub(super) fn occurrences(
        &self,
        node: &TermNode,
        kind: DerivationKinds,
        slot: Slot,
        universe: &RoaringBitmap,
    ) -> Result<Rc<Occurrences>> {
        let slot = if self.term(node).phrases(kind).is_empty() { Slot::First } else { slot };
        let key = (node.term, kind, slot);
        let known = self.occurrences.borrow().get(&key).cloned();
        if let Some(known) = known.filter(|known| universe.is_subset(&known.universe)) {
            return Ok(if universe.len() == known.universe.len() {
                Rc::clone(&known.occurrences)
            } else {
                Rc::new(known.occurrences.within(universe))
            });
        }
        let mut occurrences = match self.term(node).prefix_docs() {
            Some(_) if kind == DerivationKinds::PREFIX => {
                self.postings.prefix_occurrences(&self.term(node).text, universe)?
            }
            _ => match self.term(node).occurrences(kind, self.postings, universe)? {
                Some(kept) => kept.within(universe),
                None => self.postings.occurrences(self.term(node).words(kind).iter(), universe)?,
            },
        };
        for phrase in self.term(node).phrases(kind) {
            let Some(word) = self.slot_word(phrase, slot)? else { continue };
            let docs = &*self.phrase_docs(phrase)? & universe;
            occurrences = occurrences.merged(&self.postings.occurrences([&word].into_iter(), &docs)?);
        }
        let occurrences = Rc::new(occurrences);
        let known = CachedOccurrences { universe: universe.clone(), occurrences: Rc::clone(&occurrences) };
        self.occurrences.borrow_mut().insert(key, Rc::new(known));
        Ok(occurrences)
    }

    /// Returns the word at a slot of a phrase, if the slot is a word of the index.
    pub(crate) fn slot_word(&self, phrase: &Slots, slot: Slot) -> Result<Option<Word>> {
        let text = match slot {
            Slot::First => phrase.first().and_then(Option::as_deref),
            Slot::Last => phrase.last().and_then(Option::as_deref),
            Slot::FirstWord => phrase.iter().flatten().next().map(String::as_str),
        };
        text.map_or(Ok(None), |text| self.postings.word(text))
    }

    /// Returns the documents of the universe that match at least one node.
    pub(crate) fn any_set(&self, graph: &QueryGraph) -> Result<Arc<RoaringBitmap>> {
        let mut docs = RoaringBitmap::new();
        for (_, node) in graph.nodes() {
            docs |= &*self.node_docs(node)?;
        }
        Ok(Arc::new(docs))
    }

    /// Returns the documents of the universe that match at least one reading of the query, where `optional` nodes may
    /// be skipped.
    pub(crate) fn match_set(
        &self,
        graph: &QueryGraph,
        optional: impl Fn(usize) -> bool,
    ) -> Result<Arc<RoaringBitmap>> {
        /// Documents that match the rest of the query; None: all.
        type Rest = Option<Arc<RoaringBitmap>>;
        // From the end of the query to its start: the rest after each node.
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

    /// Counts, for each query term, the documents of the universe that match any node covering it.
    pub(crate) fn frequencies(&self, graph: &QueryGraph) -> Result<FxHashMap<usize, u64>> {
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
