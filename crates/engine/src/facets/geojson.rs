//! Which area does a document cover? Source: documents §4.5, RFC 7946.

use serde_json::Value;

use super::plane::{Border, Point, Polygon, is_closed};

/// Names of the columns of borders: west, south, east, north, a value for each shape of a document.
pub const BORDERS: [&str; 4] = ["_geojson.west", "_geojson.south", "_geojson.east", "_geojson.north"];

/// Documents of more shapes have one border around all.
const BORDERS_MAX: usize = 64;

/// One part of what a document covers.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A place.
    Point(Point),
    /// Two places or more.
    Line(Vec<Point>),
    /// A border and holes.
    Polygon(Polygon),
}

/// The shapes of a `_geojson`; None if it is malformed.
pub fn shapes_of(value: &Value) -> Option<Vec<Shape>> {
    let mut shapes = Vec::new();
    read(value, &mut shapes)?;
    Some(shapes)
}

/// The borders of some shapes, in the order of [`BORDERS`].
pub fn borders(shapes: &[Shape]) -> Vec<[f64; 4]> {
    let borders: Vec<Border> = shapes.iter().map(Shape::border).collect();
    let few = borders.len() <= BORDERS_MAX;
    let borders =
        if few { borders } else { borders.into_iter().reduce(Border::around).into_iter().collect() };
    borders.into_iter().map(|border| border.0).collect()
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

/// Rings of four positions at least, each of which ends where it begins.
fn polygon(value: &Value) -> Option<Polygon> {
    let ring = |value: &Value| positions(value, 4).filter(|ring| is_closed(ring));
    let rings = value.as_array()?.iter().map(ring).collect::<Option<Vec<Vec<Point>>>>()?;
    Polygon::new(rings)
}

impl Shape {
    pub(super) fn border(&self) -> Border {
        match self {
            Self::Point(place) => Border::of(&[*place]),
            Self::Line(line) => Border::of(line),
            Self::Polygon(polygon) => polygon.border(),
        }
    }
}
