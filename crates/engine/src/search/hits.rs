//! Writes the hit of a ranked document.

use std::cell::RefCell;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::analyzer::analyzer;
use super::bounds::Bounds;
use super::format::{Formatter, Matching};
use super::hydration::Hydration;
use super::json_writer::{Members, write_display, write_json};
use super::projection::{HIDDEN, Selection, displayed_part, project_plain, top_level};
use super::ranked_search::RankedSearch;
use super::request::SearchRequest;
use crate::error::{Error, Result};
use crate::facets::{Columns, distance};
use crate::ranking::{RankedHit, ScoreDetail, SortCriterion};
use crate::store::Snapshot;
use crate::vector::shown;

/// Writes the hits of a request.
pub(super) struct HitWriter<'a, 'h> {
    snapshot: &'a Snapshot,
    request: &'a SearchRequest,
    sort: &'a [SortCriterion],
    columns: Columns,
    displayed: Selection,
    retrieved: Selection,
    formatter: Formatter<'a>,
    bounds: &'a Bounds,
    /// Buffer for the text of a hit. Only complete hits are appended to an answer, so it never exceeds its limit.
    text: Vec<u8>,
    /// `None`: hits keep ids of other documents as they are.
    hydration: Option<&'a RefCell<Hydration<'h>>>,
}

impl<'a, 'h> HitWriter<'a, 'h> {
    pub fn new(
        snapshot: &'a Snapshot,
        request: &'a SearchRequest,
        found: &'a RankedSearch,
        bounds: &'a Bounds,
        hydration: Option<&'a RefCell<Hydration<'h>>>,
    ) -> Result<Self> {
        let hydration = hydration.filter(|_| !request.foreign_keys().is_empty());
        if let Some(hydration) = hydration {
            hydration.borrow().check_indexes(request.foreign_keys())?;
        }
        let displayed = Selection::of(&snapshot.settings().displayed_attributes);
        let retrieved = match &request.attributes_to_retrieve {
            Some(names) => Selection::of(names).and(&displayed),
            None => displayed.clone(),
        };
        let columns = Columns::new(snapshot);
        let matching = Matching::new(found.ranked.highlight_terms.clone());
        let analyzer = analyzer(snapshot)?;
        let formatter = Formatter::new(request, &analyzer, matching, &displayed, &retrieved, &columns);
        Ok(Self {
            snapshot,
            request,
            sort: &found.sort,
            columns,
            displayed,
            retrieved,
            formatter,
            bounds,
            text: Vec::new(),
            hydration,
        })
    }

    /// Records the documents of other indexes that the hit of a document refers to.
    pub fn collect(&self, docid: u32) -> Result<()> {
        let Some(hydration) = self.hydration else { return Ok(()) };
        let mut shown = Vec::new();
        self.project_retrieved(&source_of(self.snapshot, docid)?, &mut shown);
        hydration.borrow_mut().collect(self.request.foreign_keys(), &shown)
    }

    /// Replaces ids in a JSON object by documents of other indexes.
    fn hydrated(&self, object: Vec<u8>) -> Result<Vec<u8>> {
        match self.hydration {
            Some(hydration) => hydration.borrow_mut().hydrated(self.request.foreign_keys(), object),
            None => Ok(object),
        }
    }

    /// Writes a hit. `federation`: its `_federation`, for hits of a federated search.
    pub fn write_hit(
        &mut self,
        hit: &RankedHit,
        federation: Option<&serde_json::Value>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        self.formatter.limit(self.bounds.after(out.len()).bytes_left());
        let source = source_of(self.snapshot, hit.docid)?;
        self.project_retrieved(&source, &mut text);
        if self.hydration.is_some() {
            text = self.hydrated(text)?;
            self.bounds.check(out.len() + text.len())?;
        }
        // Further members go before the closing brace of the document.
        text.pop();
        let mut members = Members { first: text.last() == Some(&b'{') };
        if self.request.retrieve_vectors && self.shows_vectors() {
            members.begin("_vectors", &mut text);
            write_json(&shown(self.snapshot, hit.docid, top_level(&source, "_vectors"))?, &mut text);
        }
        if let Some(metres) = self.geo_distance(hit.docid)? {
            members.begin("_geoDistance", &mut text);
            write_display(metres, &mut text);
        }
        // A formatted copy of all attributes includes stored vectors, regardless of other options. Source: recorded
        // answers.
        let unformatted: &[&str] = if self.retrieved == Selection::All { &[] } else { &HIDDEN };
        let mut formatted = Vec::new();
        if self.formatter.write_formatted(&source, unformatted, &mut formatted) {
            members.begin("_formatted", &mut text);
            formatted = self.hydrated(formatted)?;
            self.bounds.check(out.len() + text.len() + formatted.len())?;
            text.append(&mut formatted);
        }
        if self.request.show_matches_position {
            members.begin("_matchesPosition", &mut text);
            self.formatter.write_positions(&source, unformatted, &mut text);
            self.bounds.check(out.len() + text.len())?;
        }
        if let Some(federation) = federation {
            members.begin("_federation", &mut text);
            write_json(federation, &mut text);
        }
        if self.request.show_ranking_score {
            members.begin("_rankingScore", &mut text);
            write_json(&hit.score(), &mut text);
        }
        if self.request.show_ranking_score_details {
            members.begin("_rankingScoreDetails", &mut text);
            write_json(&ScoreDetail::render(&hit.scores, |path| self.displayed.covers(path)), &mut text);
        }
        text.push(b'}');
        self.bounds.append(&text, out)?;
        self.text = text;
        Ok(())
    }

    /// Writes the part of a document that is displayed and retrieved.
    fn project_retrieved(&self, source: &str, out: &mut Vec<u8>) {
        let displayed = displayed_part(source, &self.displayed, &HIDDEN);
        project_plain(&displayed, &self.retrieved, &HIDDEN, out);
    }

    /// Returns true if vectors may be shown. A quirk of the reference: a list of attributes that names `_vectors` hides
    /// them as soon as a document has vectors.
    fn shows_vectors(&self) -> bool {
        match &self.displayed {
            Selection::All => true,
            Selection::Paths(paths) => {
                let named = paths.iter().any(|path| path == "_vectors");
                named != self.columns.knows("_vectors")
            }
        }
    }

    /// Returns the distance from the first point of `sort` in full metres, if the hit shows `_geo`.
    fn geo_distance(&self, docid: u32) -> Result<Option<u64>> {
        let origin = self.sort.iter().find_map(|criterion| match criterion {
            SortCriterion::Geo { origin, .. } => Some(*origin),
            SortCriterion::Field { .. } => None,
        });
        let Some(origin) = origin.filter(|_| self.retrieved.meets("_geo")) else { return Ok(None) };
        let points = self.columns.points(&RoaringBitmap::from([docid]))?;
        Ok(points.first().map(|(_, point)| distance(origin, *point).round() as u64))
    }
}

/// Returns the JSON of a stored document.
fn source_of(snapshot: &Snapshot, docid: u32) -> Result<Arc<Box<str>>> {
    let text = snapshot.cached_source(docid)?;
    text.ok_or_else(|| Error::internal("a ranked document is gone", format!("docid {docid}")))
}
