//! Scales documents by dynamic search rules.
//!
//! 1. The weight of a document is the product of the weights of all actions that select it. Weight 0 hides it.
//! 2. Documents of the same weight are ranked together. The ranked parts are merged by score times weight.
//! 3. Equal documents come in docid order.
//!
//! Source: the API's page on dynamic search rules of version 1.57.

use std::cmp::Ordering;

use roaring::RoaringBitmap;

use super::compare::{Value, compare};
use super::limits::{SCALED_PARTS_MAX, TOTAL_WEIGHTS};
use super::request::Scale;
use crate::analysis::Analyzer;
use crate::error::{Error, Result};
use crate::facets::Columns;
use crate::filter::{self, Scope};
use crate::ranking::{RankRequest, Ranked, RankedHit, ScaledBy, ScoreDetail, rank, rank_parts};
use crate::store::Snapshot;

/// The weights of the documents of a search.
#[derive(Default)]
pub(super) struct Scaling<'r> {
    /// Documents of weight 0.
    pub hidden: RoaringBitmap,
    /// Documents by weight; empty if no action scales any.
    parts: Vec<(f64, RoaringBitmap)>,
    /// Actions and the documents that they select, in the order of the request.
    applied: Vec<(&'r Scale, RoaringBitmap)>,
}

impl<'r> Scaling<'r> {
    /// Divides `universe` by the weights of its documents.
    pub fn of(
        snapshot: &Snapshot,
        scales: &'r [Scale],
        universe: &RoaringBitmap,
        scope: &Scope<'_>,
    ) -> Result<Self> {
        let mut scaling = Self::default();
        if scales.is_empty() {
            return Ok(scaling);
        }
        let mut parts = vec![(1.0, universe.clone())];
        for scale in scales {
            let selected = selected_by(snapshot, scale, scope)? & universe;
            if selected.is_empty() {
                continue;
            }
            if scale.weight == 0.0 {
                scaling.hidden |= selected;
                continue;
            }
            let next = divided(&parts, &selected, scale.weight);
            // Each part is ranked on its own.
            if next.len() <= SCALED_PARTS_MAX {
                parts = next;
                scaling.applied.push((scale, selected));
            }
        }
        let clamped = parts.into_iter().map(|(weight, documents)| {
            (weight.clamp(*TOTAL_WEIGHTS.start(), *TOTAL_WEIGHTS.end()), documents - &scaling.hidden)
        });
        scaling.parts = by_weight(clamped);
        Ok(scaling)
    }

    /// Returns true if ranking has to read scores of documents.
    pub fn needs_scores(&self) -> bool {
        !self.applied.is_empty()
    }

    /// Ranks documents like [`rank`], with scaled scores.
    pub fn rank(&self, snapshot: &Snapshot, analyzer: &Analyzer, ask: &RankRequest<'_>) -> Result<Ranked> {
        if self.applied.is_empty() {
            return rank(snapshot, analyzer, ask);
        }
        let documents: Vec<&RoaringBitmap> = self.parts.iter().map(|(_, documents)| documents).collect();
        // Documents of other parts may exclude those that `distinct` keeps in one part.
        let part = RankRequest { exhaustive: false, ..ask.clone() };
        let mut ranked = rank_parts(snapshot, analyzer, &part, &documents)?;
        for (ranked, (weight, _)) in ranked.iter_mut().zip(&self.parts) {
            ranked.hits.iter_mut().for_each(|hit| self.scale(hit, *weight));
        }
        merge(snapshot, ranked, ask)
    }

    /// Adds the detail about the actions that select a document, if any.
    fn scale(&self, hit: &mut RankedHit, total_weight: f64) {
        let selecting = self.applied.iter().filter(|(_, documents)| documents.contains(hit.docid));
        let actions: Vec<ScaledBy> = selecting
            .map(|(scale, _)| ScaledBy { rule_uid: scale.rule_uid.clone(), weight: scale.weight })
            .collect();
        if !actions.is_empty() {
            hit.scores.insert(0, ScoreDetail::Scale { actions, total_weight });
        }
    }
}

/// Returns the documents that an action selects: only those of `ids` if its filter cannot be evaluated in this index.
fn selected_by(snapshot: &Snapshot, scale: &Scale, scope: &Scope<'_>) -> Result<RoaringBitmap> {
    let mut found = RoaringBitmap::new();
    for id in &scale.ids {
        found.extend(snapshot.docid_of(id)?);
    }
    if !scale.filter.is_null() {
        match filter::passing(snapshot, &scale.filter, &Scope { foreign: None, ..*scope }) {
            Ok(passing) => found |= &*passing,
            Err(Error::User(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Multiplies the weight of `selected` documents.
fn divided(
    parts: &[(f64, RoaringBitmap)],
    selected: &RoaringBitmap,
    factor: f64,
) -> Vec<(f64, RoaringBitmap)> {
    by_weight(parts.iter().flat_map(|(weight, documents)| {
        let inside = documents & selected;
        let outside = documents - &inside;
        [(*weight, outside), (weight * factor, inside)].into_iter().filter(|(_, part)| !part.is_empty())
    }))
}

/// Joins parts of equal weight, in order of their first occurrence.
fn by_weight(parts: impl Iterator<Item = (f64, RoaringBitmap)>) -> Vec<(f64, RoaringBitmap)> {
    let mut found: Vec<(f64, RoaringBitmap)> = Vec::new();
    for (weight, documents) in parts {
        match found.iter_mut().find(|(known, _)| known.to_bits() == weight.to_bits()) {
            Some((_, known)) => *known |= documents,
            None => found.push((weight, documents)),
        }
    }
    found
}

/// A hit with the values that it is compared by.
struct Candidate {
    values: Vec<Value>,
    /// Overall score times weight.
    score: f64,
    hit: RankedHit,
}

impl Candidate {
    fn new(hit: RankedHit) -> Self {
        Self { values: Value::list(&hit.scores, 1.0), score: hit.score() * hit.scale(), hit }
    }

    /// Returns `Less` if it comes before `other`. Hits without ranks are compared by weight.
    fn compare(&self, other: &Self) -> Ordering {
        compare(&self.values, &other.values, (self.score, other.score))
            .then_with(|| match (self.score - other.score).abs() > f64::EPSILON {
                true => other.score.total_cmp(&self.score),
                false => Ordering::Equal,
            })
            .then_with(|| self.hit.docid.cmp(&other.hit.docid))
    }
}

/// Merges the first hits of all parts, at most one per value of the distinct attribute.
fn merge(snapshot: &Snapshot, parts: Vec<Ranked>, ask: &RankRequest<'_>) -> Result<Ranked> {
    let mut distinct = ask.distinct.map(|path| Columns::new(snapshot).distinct(path)).transpose()?;
    let mut all = RoaringBitmap::new();
    let mut merged: Option<Ranked> = None;
    let mut lists = Vec::with_capacity(parts.len());
    for mut part in parts {
        all |= std::mem::take(&mut part.candidates);
        lists.push(std::mem::take(&mut part.hits).into_iter().map(Candidate::new));
        match &mut merged {
            Some(merged) => merged.degraded |= part.degraded,
            None => merged = Some(part),
        }
    }
    let Some(mut merged) = merged else {
        return Err(Error::internal("a scaled search was merged", "it has no parts"));
    };
    let mut heads: Vec<Option<Candidate>> = lists.iter_mut().map(Iterator::next).collect();
    let mut excluded = RoaringBitmap::new();
    while merged.hits.len() < ask.wanted {
        let Some(at) = first(&heads) else { break };
        let next = lists[at].next();
        let Some(Candidate { hit, .. }) = std::mem::replace(&mut heads[at], next) else { break };
        if excluded.contains(hit.docid) {
            continue;
        }
        if let Some(distinct) = &mut distinct {
            excluded |= distinct.keep(&RoaringBitmap::from([hit.docid]), &all, 1)?.1;
        }
        merged.hits.push(hit);
    }
    merged.candidates = all - excluded;
    if let (true, Some(path)) = (ask.exhaustive, ask.distinct) {
        let all = &merged.candidates;
        merged.candidates = Columns::new(snapshot).distinct(path)?.first_of_values(all)?;
    }
    Ok(merged)
}

/// Returns the list with the best first hit.
fn first(heads: &[Option<Candidate>]) -> Option<usize> {
    let present = heads.iter().enumerate().filter_map(|(at, head)| head.as_ref().map(|head| (at, head)));
    present.min_by(|(_, a), (_, b)| a.compare(b)).map(|(at, _)| at)
}
