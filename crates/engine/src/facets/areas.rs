//! Selects documents with a shape that meets an area.
//!
//! 1. Degrees are coordinates of a plane: an edge is straight on a map of longitudes and latitudes.
//! 2. A shape is a point, a line or a polygon; a collection counts as its members. Figures that touch meet.
//! 3. A box whose right side is west of its left side crosses the antimeridian, and is two boxes.
//! 4. A circle is a polygon with the requested number of corners. A circle that leaves the map on one side enters it on
//!    the other, and a circle around a pole reaches to the edge of the map.
//!
//! The bounding boxes of shapes are columns, so that most documents are decided without reading them: a point is its
//! own box. Source: search §12.4, RFC 7946.

use std::sync::Arc;

use roaring::RoaringBitmap;
use serde_json::Value;
use tantivy::DocId;

use super::column_rows::{AllOrSome, EachValue};
use super::columns::Columns;
use super::geo_point::{EARTH_RADIUS, GeoPoint};
use super::geojson::{BOX_COLUMNS, Shape, shapes_of};
use super::plane::{BoundingBox, Point, Polygon, is_closed};
use super::selection::Selection;
use crate::cache::cached;
use crate::error::{Context, Result};

/// Corners of a circle if the filter gives no number. Source: search §12.4.
pub const CIRCLE_CORNERS: usize = 125;

/// The sides of the map: west, south, east, north.
const WORLD: [f64; 4] = [-180.0, -90.0, 180.0, 90.0];

/// The region of a filter that shapes must meet.
pub enum Region {
    /// Points within `metres` of `center`; for shapes, a polygon with `corners` corners.
    Circle {
        /// Center of the circle.
        center: GeoPoint,
        /// Radius in metres.
        metres: f64,
        /// Corners of the polygon.
        corners: usize,
    },
    /// The box between two corners.
    Box {
        /// North-east corner.
        top_right: GeoPoint,
        /// South-west corner.
        bottom_left: GeoPoint,
    },
    /// The polygon with these corners.
    Polygon(Vec<GeoPoint>),
}

impl Region {
    fn areas(&self) -> Vec<Area> {
        match self {
            Self::Circle { center, metres, corners } => Area::in_circle(*center, *metres, *corners),
            Self::Box { top_right, bottom_left } => Area::in_box(*top_right, *bottom_left),
            Self::Polygon(corners) => Area::in_polygon(corners),
        }
    }

    /// Returns the kind of region followed by the bits of its floats. Only equal regions have equal keys.
    fn key(&self) -> Box<[u64]> {
        let bits = |point: &GeoPoint| [point.lat.to_bits(), point.lng.to_bits()];
        match self {
            Self::Circle { center, metres, corners } => {
                let [lat, lng] = bits(center);
                Box::new([0, lat, lng, metres.to_bits(), *corners as u64])
            }
            Self::Box { top_right, bottom_left } => {
                [1].into_iter().chain(bits(top_right)).chain(bits(bottom_left)).collect()
            }
            Self::Polygon(corners) => [2].into_iter().chain(corners.iter().flat_map(bits)).collect(),
        }
    }
}

/// An area of the map.
struct Area {
    polygon: Polygon,
    bounding_box: BoundingBox,
    /// True if the area equals its bounding box.
    is_box: bool,
}

impl Area {
    /// `ring` need not repeat its first point at the end.
    fn new(mut ring: Vec<Point>) -> Option<Self> {
        if !is_closed(&ring) {
            ring.push(*ring.first()?);
        }
        let polygon = Polygon::new(vec![ring])?;
        Some(Self { bounding_box: polygon.bounding_box(), polygon, is_box: false })
    }

    fn of_box(sides: [f64; 4]) -> Option<Self> {
        let bounding_box = BoundingBox(sides);
        Some(Self { bounding_box, polygon: Polygon::new(vec![bounding_box.ring()])?, is_box: true })
    }

    /// The area of a box between two corners.
    fn in_box(top_right: GeoPoint, bottom_left: GeoPoint) -> Vec<Self> {
        let (top, right, bottom, left) = (top_right.lat, top_right.lng, bottom_left.lat, bottom_left.lng);
        let boxes = if right < left {
            vec![[left, bottom, WORLD[2], top], [WORLD[0], bottom, right, top]]
        } else {
            vec![[left, bottom, right, top]]
        };
        boxes.into_iter().filter_map(Self::of_box).collect()
    }

    /// The area of a polygon with these corners.
    fn in_polygon(corners: &[GeoPoint]) -> Vec<Self> {
        let ring = corners.iter().map(|corner| Point { x: corner.lng, y: corner.lat }).collect();
        Self::new(ring).into_iter().collect()
    }

    /// The area of points within `metres` of `center`.
    fn in_circle(center: GeoPoint, metres: f64, corners: usize) -> Vec<Self> {
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
        shifted.filter(|area| area.bounding_box.meets(&BoundingBox(WORLD))).collect()
    }

    fn meets(&self, shape: &Shape) -> bool {
        match shape {
            Shape::Point(point) => self.polygon.contains(*point),
            Shape::Line(line) => self.polygon.meets_line(line),
            Shape::Polygon(polygon) => self.polygon.meets(polygon),
        }
    }

    /// Returns true if a shape meets the area; None if its bounding box cannot tell.
    fn verdict(&self, shape: BoundingBox) -> Option<bool> {
        if !self.bounding_box.meets(&shape) {
            return Some(false);
        }
        match shape.as_point() {
            Some(point) => Some(self.polygon.contains(point)),
            None => (self.is_box && shape.lies_within(&self.bounding_box)).then_some(true),
        }
    }
}

/// Returns the corners of a circle, clockwise from the north. Longitudes may be beyond the edge of the map.
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

/// Bounding boxes of a segment's shapes, by ascending segment docid.
struct Boxes(Vec<(DocId, [f64; 4])>);

cached! {
    ShapeBoxes: () => Boxes, |_, boxes| size_of::<(DocId, [f64; 4])>() * boxes.0.len();
}

impl Columns {
    /// Live documents with a shape that meets `region`. `check` is called for each document and fails once the result
    /// is no longer needed.
    pub fn meeting(&self, region: &Region, check: &dyn Fn() -> Result<()>) -> Result<RoaringBitmap> {
        let areas = region.areas();
        self.selected(&Selection::Meeting(region.key()), |segment| {
            let boxes = self.boxes(segment)?;
            let mut found = Vec::new();
            for of_document in boxes.0.chunk_by(|a, b| a.0 == b.0) {
                check()?;
                let doc = of_document[0].0;
                let verdicts = || {
                    of_document
                        .iter()
                        .flat_map(|(_, sides)| areas.iter().map(|area| area.verdict(BoundingBox(*sides))))
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

    /// Returns the bounding boxes of a segment, which are read once.
    fn boxes(&self, segment: usize) -> Result<Arc<Boxes>> {
        let cache = self.segment(segment).cache();
        if let Some(boxes) = cache.get::<ShapeBoxes>(&()) {
            return Ok(boxes);
        }
        let mut boxes: Vec<(DocId, [f64; 4])> = Vec::new();
        for (side, name) in BOX_COLUMNS.iter().enumerate() {
            let field = self.field(name)?;
            for part in field.numbers.iter().filter(|part| part.segment == segment) {
                let values = part.column.values();
                let mut at = 0;
                let all = AllOrSome::All(self.segment(segment).reader.max_doc());
                part.column.each(all, |doc, value| {
                    if side == 0 {
                        boxes.push((doc, [0.0; 4]));
                    }
                    if let Some((_, sides)) = boxes.get_mut(at) {
                        sides[side] = values[value as usize];
                    }
                    at += 1;
                });
            }
        }
        let boxes = Arc::new(Boxes(boxes));
        cache.insert::<ShapeBoxes>((), &boxes);
        Ok(boxes)
    }

    fn shapes(&self, segment: usize, doc: DocId) -> Result<Vec<Shape>> {
        let source = self.segment(segment).source(self.snapshot.schema(), doc)?;
        let document: Value = serde_json::from_slice(&source).context("a stored document does not parse")?;
        Ok(document.get("_geojson").and_then(|value| shapes_of(value).ok()).unwrap_or_default())
    }
}
