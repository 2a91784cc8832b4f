//! Parses the shapes of a `_geojson`. Source: documents §4.5, RFC 7946.

use serde_json::Value;

use super::plane::{BoundingBox, Point, Polygon, is_closed};

/// Names of the columns of bounding boxes: west, south, east, north. Each has a value per shape of a document.
pub const BOX_COLUMNS: [&str; 4] = ["_geojson.west", "_geojson.south", "_geojson.east", "_geojson.north"];

/// A document with more shapes gets a single box around all of them.
const BOXES_MAX: usize = 64;

/// A shape of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A point.
    Point(Point),
    /// A line through at least two points.
    Line(Vec<Point>),
    /// A polygon with holes.
    Polygon(Polygon),
}

/// Returns the shapes of a `_geojson`; `None` if it is malformed.
pub fn shapes_of(value: &Value) -> Option<Vec<Shape>> {
    let mut shapes = Vec::new();
    read(value, &mut shapes)?;
    Some(shapes)
}

/// Returns the bounding boxes of shapes, each in the order of [`BOX_COLUMNS`].
pub fn bounding_boxes(shapes: &[Shape]) -> Vec<[f64; 4]> {
    let boxes: Vec<BoundingBox> = shapes.iter().map(Shape::bounding_box).collect();
    let few = boxes.len() <= BOXES_MAX;
    let boxes = if few { boxes } else { boxes.into_iter().reduce(BoundingBox::around).into_iter().collect() };
    boxes.into_iter().map(|one| one.0).collect()
}

fn read(value: &Value, shapes: &mut Vec<Shape>) -> Option<()> {
    match value.get("type")?.as_str()? {
        "Feature" => match value.get("geometry")? {
            Value::Null => Some(()),
            geometry => read_geometry(geometry, shapes),
        },
        "FeatureCollection" => {
            value.get("features")?.as_array()?.iter().try_for_each(|feature| read(feature, shapes))
        }
        _ => read_geometry(value, shapes),
    }
}

fn read_geometry(value: &Value, shapes: &mut Vec<Shape>) -> Option<()> {
    let kind = value.get("type")?.as_str()?;
    if kind == "GeometryCollection" {
        let members = value.get("geometries")?.as_array()?;
        return members.iter().try_for_each(|member| read_geometry(member, shapes));
    }
    let coordinates = value.get("coordinates")?;
    let read_one: fn(&Value) -> Option<Shape> = match kind {
        "Point" | "MultiPoint" => |value| position(value).map(Shape::Point),
        "LineString" | "MultiLineString" => |value| positions(value, 2).map(Shape::Line),
        "Polygon" | "MultiPolygon" => |value| polygon(value).map(Shape::Polygon),
        _ => return None,
    };
    if kind.starts_with("Multi") {
        for one in coordinates.as_array()? {
            shapes.push(read_one(one)?);
        }
    } else {
        shapes.push(read_one(coordinates)?);
    }
    Some(())
}

fn position(value: &Value) -> Option<Point> {
    let numbers = value.as_array()?;
    let finite = |number: &Value| number.as_f64().filter(|number| number.is_finite());
    numbers.iter().try_for_each(|number| finite(number).map(drop))?;
    Some(Point { x: finite(numbers.first()?)?, y: finite(numbers.get(1)?)? })
}

fn positions(value: &Value, least: usize) -> Option<Vec<Point>> {
    let positions = value.as_array()?.iter().map(position).collect::<Option<Vec<Point>>>()?;
    (positions.len() >= least).then_some(positions)
}

/// Parses rings of at least four positions. The last position of a ring equals the first.
fn polygon(value: &Value) -> Option<Polygon> {
    let ring = |value: &Value| positions(value, 4).filter(|ring| is_closed(ring));
    let rings = value.as_array()?.iter().map(ring).collect::<Option<Vec<Vec<Point>>>>()?;
    Polygon::new(rings)
}

impl Shape {
    pub(super) fn bounding_box(&self) -> BoundingBox {
        match self {
            Self::Point(point) => BoundingBox::of(&[*point]),
            Self::Line(line) => BoundingBox::of(line),
            Self::Polygon(polygon) => polygon.bounding_box(),
        }
    }
}
