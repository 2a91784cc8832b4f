//! Here is an area, give me the documents whose shapes it meets.
//!
//! 1. Degrees are a plane here: an edge is straight on a map of longitudes and latitudes.
//! 2. A shape is a point, a line or a polygon; whatever holds several is taken apart. Touching is meeting.
//! 3. A box whose right side lies west of its left one crosses the antimeridian, and is two boxes.
//! 4. A circle is a polygon of as many corners as asked for; where it leaves the map it enters it on the
//!    other side, and around a pole it reaches to the map's edge.
//!
//! The borders of shapes are columns, so that most documents are decided without being read: a point is its
//! own border. Source: search §12.4, RFC 7946.

use std::sync::{Arc, OnceLock};

use roaring::RoaringBitmap;
use serde_json::Value;
use tantivy::DocId;

use super::column_rows::{AllOrSome, EachValue};
use super::columns::Columns;
use super::geo_point::{EARTH_RADIUS, GeoPoint};
use super::geojson::{BORDERS, Shape, shapes_of};
use super::plane::{Border, Point, Polygon, is_closed};
use crate::error::{Context, Result};

/// Corners of a circle, if a filter does not say how many. Source: search §12.4.
pub const CIRCLE_CORNERS: usize = 125;

/// The map.
const WORLD: [f64; 4] = [-180.0, -90.0, 180.0, 90.0];

/// A part of the map.
pub struct Area {
    polygon: Polygon,
    border: Border,
    /// Whether the border is the area.
    is_box: bool,
}

impl Area {
    /// `ring` may or may not end where it begins.
    fn new(mut ring: Vec<Point>) -> Option<Self> {
        if !is_closed(&ring) {
            ring.push(*ring.first()?);
        }
        let polygon = Polygon::new(vec![ring])?;
        Some(Self { border: polygon.border(), polygon, is_box: false })
    }

    fn of_box(sides: [f64; 4]) -> Option<Self> {
        let border = Border(sides);
        Some(Self { border, polygon: Polygon::new(vec![border.ring()])?, is_box: true })
    }

    /// Between two corners.
    pub fn in_box(top_right: GeoPoint, bottom_left: GeoPoint) -> Vec<Self> {
        let (top, right, bottom, left) = (top_right.lat, top_right.lng, bottom_left.lat, bottom_left.lng);
        let boxes = if right < left {
            vec![[left, bottom, WORLD[2], top], [WORLD[0], bottom, right, top]]
        } else {
            vec![[left, bottom, right, top]]
        };
        boxes.into_iter().filter_map(Self::of_box).collect()
    }

    /// Within a line around it.
    pub fn in_polygon(corners: &[GeoPoint]) -> Vec<Self> {
        let ring = corners.iter().map(|corner| Point { x: corner.lng, y: corner.lat }).collect();
        Self::new(ring).into_iter().collect()
    }

    /// No farther than `metres` from `center`.
    pub fn in_circle(center: GeoPoint, metres: f64, corners: usize) -> Vec<Self> {
        let angle = metres / EARTH_RADIUS;
        if angle.is_nan() || angle < 0.0 {
            return Vec::new();
        }
        if angle >= std::f64::consts::PI {
            return Self::of_box(WORLD).into_iter().collect();
        }
        let mut ring = rim(center, angle, corners);
        let pole = if center.lat + angle.to_degrees() >= 90.0 {
            Some(90.0)
        } else if center.lat - angle.to_degrees() <= -90.0 {
            Some(-90.0)
        } else {
            None
        };
        if let Some(pole) = pole {
            ring.sort_by(|a, b| a.x.total_cmp(&b.x));
            let (first, last) = (ring[0], ring[ring.len() - 1]);
            let (west, east) = (last.x - 360.0, first.x + 360.0);
            ring.insert(0, Point { x: west, y: last.y });
            ring.push(Point { x: east, y: first.y });
            ring.extend([Point { x: east, y: pole }, Point { x: west, y: pole }]);
        }
        let shifted = [-360.0, 0.0, 360.0].into_iter().filter_map(|shift| {
            Self::new(ring.iter().map(|corner| Point { x: corner.x + shift, y: corner.y }).collect())
        });
        shifted.filter(|area| area.border.meets(&Border(WORLD))).collect()
    }

    fn meets(&self, shape: &Shape) -> bool {
        match shape {
            Shape::Point(place) => self.polygon.holds(*place),
            Shape::Line(line) => self.polygon.meets_line(line),
            Shape::Polygon(polygon) => self.polygon.meets(polygon),
        }
    }

    /// What a shape's border alone says: whether it meets the area, if that can be told.
    fn verdict(&self, border: Border) -> Option<bool> {
        if !self.border.meets(&border) {
            return Some(false);
        }
        match border.as_place() {
            Some(place) => Some(self.polygon.holds(place)),
            None => (self.is_box && border.lies_within(&self.border)).then_some(true),
        }
    }
}

/// Corners of a circle, clockwise from the north; longitudes go on past the map's edge.
fn rim(center: GeoPoint, angle: f64, corners: usize) -> Vec<Point> {
    let (sin_lat, cos_lat) = center.lat.to_radians().sin_cos();
    let (sin_angle, cos_angle) = angle.sin_cos();
    (0..corners)
        .map(|corner| {
            let (sin_bearing, cos_bearing) =
                (std::f64::consts::TAU * corner as f64 / corners as f64).sin_cos();
            let sin = sin_lat * cos_angle + cos_lat * sin_angle * cos_bearing;
            let east = (sin_bearing * sin_angle * cos_lat).atan2(cos_angle - sin_lat * sin);
            Point { x: center.lng + east.to_degrees(), y: sin.clamp(-1.0, 1.0).asin().to_degrees() }
        })
        .collect()
}

/// The borders of a segment's shapes, by ascending document.
struct Borders(Vec<(DocId, [f64; 4])>);

#[derive(Default)]
struct Kept(OnceLock<Arc<Borders>>);

impl Columns {
    /// Live documents with a shape that meets one of `areas`; `key` says which areas those are.
    pub fn meeting(&self, areas: &[Area], key: &str) -> Result<RoaringBitmap> {
        self.selected(&format!("shapes {key}"), |segment| {
            let borders = self.borders(segment)?;
            let mut found = Vec::new();
            for of_document in borders.0.chunk_by(|a, b| a.0 == b.0) {
                let doc = of_document[0].0;
                let verdicts = || {
                    of_document
                        .iter()
                        .flat_map(|(_, sides)| areas.iter().map(|area| area.verdict(Border(*sides))))
                };
                let meets = match verdicts().any(|verdict| verdict == Some(true)) {
                    true => true,
                    false if verdicts().any(|verdict| verdict.is_none()) => {
                        let shapes = self.shapes(segment, doc)?;
                        shapes.iter().any(|shape| areas.iter().any(|area| area.meets(shape)))
                    }
                    false => false,
                };
                if meets {
                    found.push(doc);
                }
            }
            Ok(found)
        })
    }

    /// The borders of a segment, read once for it.
    fn borders(&self, segment: usize) -> Result<Arc<Borders>> {
        let kept = self.segment(segment).attachments().get::<Kept>();
        if let Some(borders) = kept.0.get() {
            return Ok(Arc::clone(borders));
        }
        let mut borders: Vec<(DocId, [f64; 4])> = Vec::new();
        for (side, name) in BORDERS.iter().enumerate() {
            let field = self.field(name)?;
            for part in field.numbers.iter().filter(|part| part.segment == segment) {
                let values = part.column.values();
                let mut at = 0;
                let all = AllOrSome::All(self.segment(segment).reader.max_doc());
                part.column.each(all, |doc, value| {
                    if side == 0 {
                        borders.push((doc, [0.0; 4]));
                    }
                    if let Some((_, sides)) = borders.get_mut(at) {
                        sides[side] = values[value as usize];
                    }
                    at += 1;
                });
            }
        }
        Ok(Arc::clone(kept.0.get_or_init(|| Arc::new(Borders(borders)))))
    }

    fn shapes(&self, segment: usize, doc: DocId) -> Result<Vec<Shape>> {
        let source = self.segment(segment).source(self.snapshot.schema(), doc)?;
        let document: Value = serde_json::from_slice(&source).context("a stored document does not parse")?;
        Ok(document.get("_geojson").and_then(shapes_of).unwrap_or_default())
    }
}
