//! Parses the shapes of a `_geojson`. Source: documents §4.5, RFC 7946.

use serde_json::{Map, Value};

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

/// A parsed part of a `_geojson`, or why it is malformed.
type Parsed<T> = Result<T, String>;

/// The last position of a closed ring repeats the first.
const RING_POSITIONS_MIN: usize = 4;
const LINE_POSITIONS_MIN: usize = 2;

/// Returns the shapes of a `_geojson`, or why it is malformed.
pub fn shapes_of(value: &Value) -> Parsed<Vec<Shape>> {
    let mut shapes = Vec::new();
    read(value, &mut shapes)?;
    Ok(shapes)
}

/// Returns the bounding boxes of shapes, each in the order of [`BOX_COLUMNS`].
pub fn bounding_boxes(shapes: &[Shape]) -> Vec<[f64; 4]> {
    let boxes: Vec<BoundingBox> = shapes.iter().map(Shape::bounding_box).collect();
    let few = boxes.len() <= BOXES_MAX;
    let boxes = if few { boxes } else { boxes.into_iter().reduce(BoundingBox::around).into_iter().collect() };
    boxes.into_iter().map(|one| one.0).collect()
}

fn read(value: &Value, shapes: &mut Vec<Shape>) -> Parsed<()> {
    let object = object_in(value, "_geojson")?;
    match object.get("type").and_then(Value::as_str) {
        Some("Feature") => match object.get("geometry") {
            None => Err("a `Feature` needs a `geometry`".to_owned()),
            Some(Value::Null) => Ok(()),
            Some(geometry) => read_geometry(geometry, shapes),
        },
        Some("FeatureCollection") => list_in(object.get("features"), "features", 0)?
            .iter()
            .try_for_each(|feature| read(feature, shapes)),
        _ => read_geometry(value, shapes),
    }
}

fn read_geometry(value: &Value, shapes: &mut Vec<Shape>) -> Parsed<()> {
    let geometry = object_in(value, "geometry")?;
    let kind = geometry.get("type").and_then(Value::as_str).unwrap_or_default();
    if kind == "GeometryCollection" {
        let members = list_in(geometry.get("geometries"), "geometries", 0)?;
        return members.iter().try_for_each(|member| read_geometry(member, shapes));
    }
    let coordinates = geometry.get("coordinates");
    let read_one: fn(Option<&Value>) -> Parsed<Shape> = match kind {
        "Point" | "MultiPoint" => |value| position(value).map(Shape::Point),
        "LineString" | "MultiLineString" => |value| positions(value, LINE_POSITIONS_MIN).map(Shape::Line),
        "Polygon" | "MultiPolygon" => |value| polygon(value).map(Shape::Polygon),
        _ => return Err("`type` must name a geometry, `Feature` or `FeatureCollection`".to_owned()),
    };
    if kind.starts_with("Multi") {
        for one in list_in(coordinates, "coordinates", 0)? {
            shapes.push(read_one(Some(one))?);
        }
    } else {
        shapes.push(read_one(coordinates)?);
    }
    Ok(())
}

fn object_in<'v>(value: &'v Value, what: &str) -> Parsed<&'v Map<String, Value>> {
    value.as_object().ok_or_else(|| format!("`{what}` must be an object"))
}

fn list_in<'v>(value: Option<&'v Value>, what: &str, least: usize) -> Parsed<&'v [Value]> {
    match value.and_then(Value::as_array) {
        None => Err(format!("`{what}` must be an array")),
        Some(list) if list.len() < least => Err(format!("`{what}` needs at least {least} items")),
        Some(list) => Ok(list),
    }
}

fn position(value: Option<&Value>) -> Parsed<Point> {
    let numbers = list_in(value, "coordinates", 2)?;
    let finite = |number: &Value| {
        let number = number.as_f64().filter(|number| number.is_finite());
        number.ok_or_else(|| "a position holds numbers only".to_owned())
    };
    numbers.iter().try_for_each(|number| finite(number).map(drop))?;
    Ok(Point { x: finite(&numbers[0])?, y: finite(&numbers[1])? })
}

fn positions(value: Option<&Value>, least: usize) -> Parsed<Vec<Point>> {
    list_in(value, "coordinates", least)?.iter().map(|one| position(Some(one))).collect()
}

fn polygon(value: Option<&Value>) -> Parsed<Polygon> {
    let unclosed = || "a ring must end where it begins".to_owned();
    let ring = |value: &Value| {
        let ring = positions(Some(value), RING_POSITIONS_MIN)?;
        if is_closed(&ring) { Ok(ring) } else { Err(unclosed()) }
    };
    let rings = list_in(value, "coordinates", 1)?.iter().map(ring).collect::<Parsed<Vec<Vec<Point>>>>()?;
    Polygon::new(rings).ok_or_else(unclosed)
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
