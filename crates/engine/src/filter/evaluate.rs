use std::cell::Cell;
use std::collections::HashMap;
use std::ops::{Bound, Range};
use std::sync::Arc;

use filter_grammar::{Filter, Operator, Point, Reference, Spanned, Text};
use roaring::RoaringBitmap;

use super::expression::Expression;
use super::rules::{describe_filterable, features_of, is_geo_filterable};
use super::scope::Scope;
use crate::cache::cached;
use crate::error::{Error, Result};
use crate::facets::{CIRCLE_CORNERS, COORDINATES, Columns, GeoPoint, Region};
use crate::store::{Snapshot, bitmap_bytes};
use crate::vector::{Embedder, Flags, Vectors, embedders_of};

cached! {
    Filters: Expression => RoaringBitmap, |expression, docs| expression.heap_bytes() + bitmap_bytes(docs);
}

/// Returns the live documents selected by `expression`, cached with the commit.
///
/// # Errors
/// The scope's code if a field is not filterable or a point is not on the map. `invalid_search_filter`, regardless of
/// the scope, if a field's rule does not allow an operator.
pub fn select(snapshot: &Snapshot, expression: &Expression, scope: &Scope<'_>) -> Result<Arc<RoaringBitmap>> {
    if let Some(documents) = snapshot.cache().get::<Filters>(expression) {
        return Ok(documents);
    }
    let evaluation =
        Evaluation { snapshot, columns: Columns::new(snapshot), scope, element_documents: Cell::default() };
    let documents = Arc::new(evaluation.expression(expression)?);
    snapshot.cache().insert::<Filters>(expression.clone(), &documents);
    Ok(documents)
}

pub(super) struct Evaluation<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) columns: Columns,
    pub(super) scope: &'a Scope<'a>,
    /// Documents read for their elements so far, counted separately for each `_element`.
    pub(super) element_documents: Cell<u64>,
}

impl Evaluation<'_> {
    fn expression(&self, expression: &Expression) -> Result<RoaringBitmap> {
        match expression {
            Expression::All(parts) => {
                let (last, first): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.element().is_some());
                let found = intersect(first.into_iter().map(|part| self.expression(part)))?;
                let last = last.into_iter().filter_map(Expression::element);
                self.and_by_elements(found, last)
            }
            Expression::Any(parts) => {
                let mut found = RoaringBitmap::new();
                for part in parts {
                    found |= self.expression(part)?;
                }
                Ok(found)
            }
            Expression::Text { source, tree } => self.filter(tree, source),
        }
    }

    pub(super) fn filter(&self, filter: &Filter, source: &str) -> Result<RoaringBitmap> {
        self.scope.check()?;
        match filter {
            // All parts are evaluated, even if no document is left, so that mistakes in later parts are reported.
            Filter::All(parts) => {
                let is_last = |part: &&Filter| matches!(part, Filter::Element(_));
                let (last, first): (Vec<&Filter>, Vec<&Filter>) = parts.iter().partition(is_last);
                let found = intersect(first.into_iter().map(|part| self.filter(part, source)))?;
                let last = last.into_iter().filter_map(|part| match part {
                    Filter::Element(element) => Some((element, source)),
                    _ => None,
                });
                self.and_by_elements(found, last)
            }
            Filter::Any(parts) => self.any(parts, source),
            Filter::Not(part) => Ok(self.snapshot.documents() - self.filter(part, source)?),
            Filter::Condition { field, operator } => self.condition(field, operator, source),
            Filter::GeoRadius(Spanned { value, span }) => {
                self.check_geo(span, source)?;
                let center = self.point(&value.center, source)?;
                if let Some(resolution) = &value.resolution {
                    // A fraction is cut off.
                    if !(3..=1000).contains(&(resolution.value as i64)) {
                        let cause = format!("bad resolution `{}`: expected 3 to 1000", resolution.value);
                        return Err(self.mistake(self.scope.code, &cause, source, &resolution.span));
                    }
                }
                let corners =
                    value.resolution.as_ref().map_or(CIRCLE_CORNERS, |number| number.value as usize);
                let metres = value.radius.value;
                Ok(self.columns.within_radius(center, metres)?
                    | self.meeting(&Region::Circle { center, metres, corners })?)
            }
            Filter::GeoBoundingBox(Spanned { value, span }) => {
                self.check_geo(span, source)?;
                let (top_right, bottom_left) =
                    (self.point(&value.top_right, source)?, self.point(&value.bottom_left, source)?);
                if top_right.lat < bottom_left.lat {
                    let cause = format!(
                        "the top latitude `{}` is below the bottom latitude `{}`",
                        top_right.lat, bottom_left.lat
                    );
                    return Err(self.mistake(self.scope.code, &cause, source, span));
                }
                Ok(self.columns.within_box(top_right, bottom_left)?
                    | self.meeting(&Region::Box { top_right, bottom_left })?)
            }
            Filter::GeoPolygon(Spanned { value, span }) => {
                if !is_geo_filterable(self.snapshot.settings(), "_geojson") {
                    return Err(self.not_filterable("_geojson", source, span));
                }
                let corners: Vec<GeoPoint> =
                    value.iter().map(|point| self.point(point, source)).collect::<Result<_>>()?;
                self.meeting(&Region::Polygon(corners))
            }
            Filter::Vectors(names) => self.vectors(names, source),
            Filter::Element(element) => self.by_element(element, source, self.snapshot.documents()),
            Filter::Foreign(Spanned { span, .. }) => {
                Err(self.mistake(self.scope.code, "`_foreign` cannot be used here", source, span))
            }
        }
    }

    /// Removes documents from `found` that fail a filter on elements, each given with its source. These filters run
    /// last, because they read each remaining document. `found` is `None` if there is no other filter.
    fn and_by_elements<'e>(
        &self,
        found: Option<RoaringBitmap>,
        elements: impl Iterator<Item = (&'e Spanned<Reference>, &'e str)>,
    ) -> Result<RoaringBitmap> {
        let mut found = found.unwrap_or_else(|| self.snapshot.documents().clone());
        for (element, source) in elements {
            found = self.by_element(element, source, &found)?;
        }
        Ok(found)
    }

    /// Returns documents with vectors of one embedder or of all. Source: vectors §9.1.
    fn vectors(&self, names: &Spanned<Vec<Text>>, source: &str) -> Result<RoaringBitmap> {
        let refuse = |cause: &str| Err(self.mistake(self.scope.code, cause, source, &names.span));
        let texts: Vec<&str> = names.value.iter().map(|name| name.value.as_str()).collect();
        let embedders = embedders_of(self.snapshot.settings());
        let asked: Vec<&Embedder> = match texts.first() {
            None => embedders.values().collect(),
            Some(name) => match embedders.get(*name) {
                Some(embedder) => vec![embedder],
                None => return refuse(&format!("there is no embedder named `{name}`")),
            },
        };
        let select =
            |flags: &Flags, fragments: bool, number: Option<u8>| match texts.get(1..).unwrap_or_default() {
                [] => Some(flags.embedded.clone()),
                ["userProvided"] => Some(flags.user_provided.clone()),
                // An embedder with fragments makes all vectors from them, and none from a template.
                ["documentTemplate"] if fragments => Some(RoaringBitmap::new()),
                ["documentTemplate"] => Some(&flags.embedded - &flags.user_provided),
                ["regenerate"] => Some(&flags.embedded - &flags.skip_regenerate),
                ["fragments", _] => {
                    number.map(|number| flags.fragments.get(&number).cloned().unwrap_or_default())
                }
                _ => None,
            };
        let vectors = Vectors::of(self.snapshot);
        let mut found = RoaringBitmap::new();
        for embedder in asked {
            let number = match texts[..] {
                [_, "fragments", name] => embedder.fragments.as_ref().and_then(|it| it.get(name)).copied(),
                _ => None,
            };
            if let ([_, "fragments", name], None) = (&texts[..], number) {
                return refuse(&format!("the embedder `{}` has no fragment named `{name}`", embedder.name));
            }
            match select(&vectors.flags(&embedder.name)?, embedder.fragments.is_some(), number) {
                Some(documents) => found |= documents,
                None => {
                    return refuse(
                        "expected one of `userProvided`, `documentTemplate`, `regenerate` or `fragments.NAME` after \
                         the name of an embedder",
                    );
                }
            }
        }
        Ok(found & self.snapshot.documents())
    }

    /// Evaluates equality conditions on the same field together, because lists of them may be long.
    fn any(&self, parts: &[Filter], source: &str) -> Result<RoaringBitmap> {
        let mut found = RoaringBitmap::new();
        let mut equalities: HashMap<&str, Vec<&Text>> = HashMap::new();
        for part in parts {
            match part {
                Filter::Condition { field, operator: operator @ Operator::Equal(text) } => {
                    self.scope.check()?;
                    self.check(field, operator, source)?;
                    equalities.entry(&field.value).or_default().push(text);
                }
                part => found |= self.filter(part, source)?,
            }
        }
        for (field, texts) in equalities {
            found |= self.columns.equal_any(field, texts.iter().map(|text| text.value.as_str()))?;
        }
        Ok(found)
    }

    fn condition(&self, field: &Text, operator: &Operator, source: &str) -> Result<RoaringBitmap> {
        self.check(field, operator, source)?;
        let (path, columns) = (field.value.as_str(), &self.columns);
        if !self.can_hold(path, operator)? {
            return Ok(RoaringBitmap::new());
        }
        let range = |from: Bound<&Text>, to: Bound<&Text>| {
            columns.between(path, from.map(|text| text.value.as_str()), to.map(|text| text.value.as_str()))
        };
        match operator {
            Operator::Equal(text) => columns.equal(path, &text.value),
            Operator::NotEqual(text) => Ok(self.snapshot.documents() - columns.equal(path, &text.value)?),
            Operator::Greater(text) => range(Bound::Excluded(text), Bound::Unbounded),
            Operator::GreaterOrEqual(text) => range(Bound::Included(text), Bound::Unbounded),
            Operator::Lower(text) => range(Bound::Unbounded, Bound::Excluded(text)),
            Operator::LowerOrEqual(text) => range(Bound::Unbounded, Bound::Included(text)),
            Operator::Between { from, to } => range(Bound::Included(from), Bound::Included(to)),
            Operator::In(texts) => columns.equal_any(path, texts.iter().map(|text| text.value.as_str())),
            Operator::Exists => columns.exists(path),
            Operator::Null => columns.null(path),
            Operator::Empty => columns.empty(path),
            Operator::Contains(text) => columns.contains(path, &text.value),
            Operator::StartsWith(text) => columns.starts_with(path, &text.value),
        }
    }

    /// Returns false if no document has the field `path`, so that no condition on it holds. Documents are only looked up
    /// for `!=`, which would hold for all of them.
    pub(super) fn can_hold(&self, path: &str, operator: &Operator) -> Result<bool> {
        match operator {
            Operator::NotEqual(_) => Ok(!self.columns.exists(path)?.is_empty()),
            _ => Ok(self.columns.knows(path) || COORDINATES.contains(&path)),
        }
    }

    /// # Errors
    /// If the settings do not allow `operator` on `field`.
    pub(super) fn check(&self, field: &Text, operator: &Operator, source: &str) -> Result<()> {
        let settings = self.snapshot.settings();
        let name = &field.value;
        if matches!(name.as_str(), "_geo" | "_geoDistance" | "_geoPoint") {
            let cause = format!(
                "`{name}` is reserved and cannot be filtered on; use `_geoRadius(latitude, longitude, distance)` \
                 or `_geoBoundingBox([latitude, longitude], [latitude, longitude])`"
            );
            return Err(self.mistake(self.scope.code, &cause, source, &field.span));
        }
        let Some(features) = features_of(settings, name) else {
            return Err(self.not_filterable(name, source, &field.span));
        };
        let operators = features.filter;
        let (allowed, kind) = match operator {
            Operator::Equal(_) | Operator::NotEqual(_) | Operator::In(_) => (operators.equality, "equality"),
            Operator::Greater(_)
            | Operator::GreaterOrEqual(_)
            | Operator::Lower(_)
            | Operator::LowerOrEqual(_)
            | Operator::Between { .. } => (operators.comparison, "comparison"),
            Operator::Exists
            | Operator::Null
            | Operator::Empty
            | Operator::Contains(_)
            | Operator::StartsWith(_) => (operators.equality || operators.comparison, "equality"),
        };
        if allowed {
            return Ok(());
        }
        let cause = format!(
            "attribute `{name}` does not allow {kind} operators: its rule in `filterableAttributes` has `{kind}` \
             switched off"
        );
        Err(self.mistake("invalid_search_filter", &cause, source, &field.span))
    }

    fn check_geo(&self, span: &Range<usize>, source: &str) -> Result<()> {
        let settings = self.snapshot.settings();
        if ["_geo", "_geojson"].iter().any(|field| is_geo_filterable(settings, field)) {
            return Ok(());
        }
        Err(self.not_filterable("_geo", source, span))
    }

    fn not_filterable(&self, name: &str, source: &str, span: &Range<usize>) -> Error {
        let known = describe_filterable(self.snapshot.settings());
        let cause = format!("Attribute `{name}` is not filterable. {known}");
        self.mistake(self.scope.code, &cause, source, span)
    }

    /// Documents whose shapes meet one of `areas`; none if shapes are not filterable.
    fn meeting(&self, region: &Region) -> Result<RoaringBitmap> {
        if !is_geo_filterable(self.snapshot.settings(), "_geojson") {
            return Ok(RoaringBitmap::new());
        }
        self.columns.meeting(region, &|| self.scope.check())
    }

    fn point(&self, point: &Point, source: &str) -> Result<GeoPoint> {
        let within = |number: &Spanned<f64>, name: &str, most: f64| {
            if number.value.abs() <= most {
                return Ok(number.value);
            }
            let cause = format!("bad {name} `{}`: expected {} to {most}", number.value, -most);
            Err(self.mistake(self.scope.code, &cause, source, &number.span))
        };
        Ok(GeoPoint {
            lat: within(&point.lat, "latitude", 90.0)?,
            lng: within(&point.lng, "longitude", 180.0)?,
        })
    }

    pub(super) fn mistake(
        &self,
        code: &'static str,
        cause: &str,
        source: &str,
        span: &Range<usize>,
    ) -> Error {
        let location = filter_grammar::Error::locate(source, span);
        let message = match self.scope.index_uid {
            Some(uid) => format!("Index `{uid}`: {cause}\n{location}"),
            None => format!("{cause}\n{location}"),
        };
        Error::user(code, message)
    }
}

fn intersect(parts: impl Iterator<Item = Result<RoaringBitmap>>) -> Result<Option<RoaringBitmap>> {
    let mut left: Option<RoaringBitmap> = None;
    for part in parts {
        let part = part?;
        left = Some(match left {
            Some(left) => left & part,
            None => part,
        });
    }
    Ok(left)
}
