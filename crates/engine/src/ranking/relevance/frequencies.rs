//! Reads how often documents contain derivations of a term.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::derivations::{Source, forms};
use super::formula::frequency_units;
use super::weights::attribute_weight;
use crate::error::Result;
use crate::fields::FieldId;
use crate::postings::{FieldDocs, FieldLengths, Reading, Targets, Word};
use crate::query::{DerivationKinds, Slots, Term, TermResolver};
use crate::store::ascending;

/// Documents and their frequencies, ascending.
pub(super) type Frequencies = Vec<(u32, u64)>;

/// Reads frequencies in the fields that a request searches.
pub(super) struct FrequencyReader<'a> {
    pub(super) resolver: &'a TermResolver<'a>,
    lengths: Arc<Vec<(FieldId, FieldLengths)>>,
    /// Frequency of one occurrence in a field, by the code of its length; as `lengths`.
    units: Vec<Vec<u64>>,
}

impl<'a> FrequencyReader<'a> {
    pub(super) fn new(resolver: &'a TermResolver<'a>) -> Result<Self> {
        let snapshot = resolver.postings.snapshot();
        let lengths = resolver.postings.lengths()?;
        let units = lengths.iter().map(|(field, lengths)| {
            let path = snapshot.fields().name(*field).unwrap_or_default();
            frequency_units(attribute_weight(&snapshot.settings().attribute_weights, path), lengths.average)
        });
        Ok(Self { resolver, units: units.collect(), lengths: Arc::clone(&lengths) })
    }

    /// Returns an upper bound of the frequencies of derivations; None if it is not known.
    pub(super) fn highest(&self, source: &Source) -> Option<u64> {
        match source {
            Source::Forms(term) if self.resolver.within().is_none() => {
                term.highest_frequency(self.resolver.postings)
            }
            Source::Forms(_) => None,
            // A field counts once.
            Source::Phrases(_) | Source::Completions(_) | Source::Misspelt(..) | Source::Listed(_) => {
                let fields = self.lengths.iter().zip(&self.units);
                let searched = fields.filter(|((field, _), _)| self.resolver.searches(*field));
                Some(searched.map(|((_, lengths), units)| units[usize::from(lengths.shortest)]).sum())
            }
        }
    }

    /// Returns an upper bound of the postings to read for derivations. Phrases are known: all matching documents were read.
    pub(super) fn postings_of(&self, source: &Source) -> Result<u64> {
        let postings = self.resolver.postings;
        Ok(match source {
            Source::Forms(term) => forms(term, postings).map(|(word, _)| word.frequency_bound()).sum(),
            Source::Phrases(_) => 0,
            Source::Completions(term) => {
                let exact = term.exact().map_or(0, Word::frequency_bound);
                term.docs(DerivationKinds::PREFIX, postings)?.postings() + exact
            }
            Source::Misspelt(term, kind) => term.words(*kind).iter().map(Word::frequency_bound).sum(),
            Source::Listed(words) => words.iter().map(|word| word.frequency_bound()).sum(),
        })
    }

    /// Returns the frequency of one occurrence in a field of a document.
    pub(super) fn unit(&self, docid: u32, field: FieldId) -> u64 {
        self.units_of(field).map_or(0, |units| units.of(docid))
    }

    fn units_of(&self, field: FieldId) -> Option<Units<'_>> {
        let at = self.lengths.binary_search_by_key(&field, |(known, _)| *known).ok()?;
        Some(Units { lengths: &self.lengths[at].1, units: &self.units[at] })
    }

    /// Returns the frequencies of derivations, in target documents alone if given.
    pub(super) fn read(&self, source: &Source, targets: Option<&mut Targets>) -> Result<Frequencies> {
        let postings = self.resolver.postings;
        match source {
            Source::Forms(term) => self.of_forms(term, targets),
            Source::Phrases(phrases) => self.of_phrases(phrases, targets.as_deref()),
            Source::Completions(term) => {
                let completions = term.docs(DerivationKinds::PREFIX, postings)?;
                let exact = term.exact().map(|word| postings.word_docs(word)).transpose()?;
                let mut fields = ByField::new(targets.as_deref());
                for docs in [Some(completions), exact].into_iter().flatten() {
                    fields.add(&docs, false, self.resolver);
                }
                Ok(self.once_each(&fields))
            }
            Source::Misspelt(term, kind) => {
                Ok(self.of_docs(&*term.docs(*kind, postings)?, targets.as_deref()))
            }
            Source::Listed(words) => {
                Ok(self.of_docs(&postings.docs(words.iter().copied())?, targets.as_deref()))
            }
        }
    }

    fn of_forms(&self, term: &Term, targets: Option<&mut Targets>) -> Result<Frequencies> {
        let (postings, joined) = (self.resolver.postings, term.parts.is_some());
        let mut found: Frequencies = Vec::new();
        // Lists follow each other, so the field rarely changes.
        let mut last: Option<(FieldId, Option<Units>)> = None;
        let mut take = |docid, field, count: u32, percent: u64| {
            let units = match last {
                Some((known, units)) if known == field => units,
                _ => {
                    let counts = self.resolver.searches(field)
                        && (!joined || postings.searchable().field_forgives(field));
                    last.insert((field, self.units_of(field).filter(|_| counts))).1
                }
            };
            if let Some(units) = units {
                found.push((docid, u64::from(count) * (units.of(docid) * percent / 100)));
            }
        };
        if let Some(targets) = targets {
            postings.visit_counts_in(forms(term, postings), targets, take)?;
            return Ok(added(found));
        }
        for (word, percent) in forms(term, postings) {
            postings.visit_counts(word, |docid, field, count| take(docid, field, count, percent))?;
        }
        let found = added(found);
        if self.resolver.within().is_none() {
            let highest = found.iter().map(|(_, frequency)| *frequency).max();
            term.keep_highest_frequency(highest.unwrap_or(0), postings);
        }
        Ok(found)
    }

    fn of_docs(&self, docs: &FieldDocs, targets: Option<&Targets>) -> Frequencies {
        let mut fields = ByField::new(targets);
        fields.add(docs, true, self.resolver);
        self.once_each(&fields)
    }

    fn of_phrases(&self, phrases: &[Slots], targets: Option<&Targets>) -> Result<Frequencies> {
        let postings = self.resolver.postings;
        let reading = Reading { forgiving: false, within: self.resolver.within() };
        let mut fields = ByField::new(targets);
        for phrase in phrases {
            let Some(first) = phrase.iter().flatten().next() else { continue };
            let Some(word) = postings.word(first)? else { continue };
            let docs = self.resolver.phrase_docs_of_index(phrase)?;
            if docs.is_empty() {
                continue;
            }
            for (field, in_field) in
                postings.word_docs(&word)?.fields_matching(reading, postings.searchable())
            {
                fields.insert(field, &(in_field & &*docs));
            }
        }
        Ok(self.once_each(&fields))
    }

    fn once_each(&self, fields: &ByField) -> Frequencies {
        let mut found = Vec::with_capacity(fields.docs.values().map(|docs| docs.len() as usize).sum());
        for (field, docs) in &fields.docs {
            let units = self.units_of(*field);
            let unit = |docid| units.map_or(0, |units| units.of(docid));
            found.extend(ascending(docs).into_iter().map(|docid| (docid, unit(docid))));
        }
        added(found)
    }
}

/// Frequencies of one occurrence in a field, by the length of the field.
#[derive(Clone, Copy)]
struct Units<'s> {
    lengths: &'s FieldLengths,
    units: &'s [u64],
}

impl Units<'_> {
    fn of(&self, docid: u32) -> u64 {
        self.units[usize::from(self.lengths.code(docid))]
    }
}

/// Documents by field.
struct ByField<'w> {
    docs: BTreeMap<FieldId, RoaringBitmap>,
    /// Other documents are left out.
    within: Option<&'w RoaringBitmap>,
}

impl<'w> ByField<'w> {
    fn new(targets: Option<&'w Targets>) -> Self {
        Self { docs: BTreeMap::new(), within: targets.map(Targets::docs) }
    }

    fn insert(&mut self, field: FieldId, docs: &RoaringBitmap) {
        let known = self.docs.entry(field).or_default();
        match self.within {
            Some(within) => *known |= docs & within,
            None => *known |= docs,
        }
    }

    fn add(&mut self, docs: &FieldDocs, forgiving: bool, resolver: &TermResolver) {
        let reading = Reading { forgiving, within: resolver.within() };
        for (field, docs) in docs.fields_matching(reading, resolver.postings.searchable()) {
            self.insert(field, docs);
        }
    }
}

/// Adds the frequencies of equal documents.
fn added(mut found: Frequencies) -> Frequencies {
    if !found.is_sorted_by_key(|(docid, _)| *docid) {
        // Each list was read in order. A stable sort is fast on such sorted runs.
        found.sort_by_key(|(docid, _)| *docid);
    }
    found.dedup_by(|later, first| {
        let is_same = later.0 == first.0;
        if is_same {
            first.1 += later.1;
        }
        is_same
    });
    found
}
