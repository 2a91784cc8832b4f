use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use crate::text::{VECTORS, write_name, write_text};

/// A value with its position in the filter. Equality ignores the position.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The parsed value.
    pub value: T,
    /// Its bytes in the filter, including quotes.
    pub span: Range<usize>,
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

impl<T: Hash> Hash for Spanned<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

/// A field or a value, unquoted and unescaped.
pub type Text = Spanned<String>;

/// A finite argument of a geo filter.
pub type Number = Spanned<f64>;

impl Text {
    /// Returns the number spelled by the text, if it is finite.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        self.value.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// Latitude and longitude in degrees. Their ranges are not checked here.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Degrees north.
    pub lat: Number,
    /// Degrees east.
    pub lng: Number,
}

impl Eq for Point {}

impl Hash for Point {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_number(&self.lat, state);
        hash_number(&self.lng, state);
    }
}

/// Hashes a number. Adding zero turns minus zero into zero, which are equal.
fn hash_number(number: &Number, state: &mut impl Hasher) {
    (number.value + 0.0).to_bits().hash(state);
}

/// The operator of a condition. Negated forms are a [`Filter::Not`] around it, except `!=`, which differs for fields
/// that no document has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `= text`
    Equal(Text),
    /// `!= text`
    NotEqual(Text),
    /// `> text`
    Greater(Text),
    /// `>= text`
    GreaterOrEqual(Text),
    /// `< text`
    Lower(Text),
    /// `<= text`
    LowerOrEqual(Text),
    /// `from TO to`, including both bounds
    Between {
        /// Lower bound.
        from: Text,
        /// Upper bound.
        to: Text,
    },
    /// `IN [text, …]`
    In(Vec<Text>),
    /// `EXISTS`
    Exists,
    /// `IS NULL`
    Null,
    /// `IS EMPTY`
    Empty,
    /// `CONTAINS text`
    Contains(Text),
    /// `STARTS WITH text`
    StartsWith(Text),
}

/// A parsed filter. The parser limits its depth, so recursion over it is safe.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Documents that pass every part. At least two parts.
    All(Vec<Filter>),
    /// Documents that pass any part. At least two parts.
    Any(Vec<Filter>),
    /// Documents that do not pass the part. Never directly inside another `Not`.
    Not(Box<Filter>),
    /// A condition on a field.
    Condition {
        /// Dotted path.
        field: Text,
        /// Operator with its operands.
        operator: Operator,
    },
    /// Documents within a distance of a point. The span covers the complete expression, also in the variants below.
    GeoRadius(Spanned<Circle>),
    /// Documents in a box, including its borders.
    GeoBoundingBox(Spanned<Rectangle>),
    /// Documents with a shape that meets a polygon. At least three corners in order; the last is joined to the first.
    GeoPolygon(Spanned<Vec<Point>>),
    /// Documents with vectors of the embedder and kind given by the names; without names, with any vectors.
    Vectors(Spanned<Vec<Text>>),
    /// Documents with a reference to documents of another index that pass a filter.
    Foreign(Spanned<Reference>),
    /// Documents with an object at a field that passes the complete filter.
    Element(Spanned<Reference>),
}

/// The arguments of `_geoRadius`.
#[derive(Debug, Clone, PartialEq)]
pub struct Circle {
    /// Center of the circle.
    pub center: Point,
    /// Radius in metres.
    pub radius: Number,
    /// Number of corners of the polygon that replaces the circle when shapes are compared.
    pub resolution: Option<Number>,
}

impl Eq for Circle {}

impl Hash for Circle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.center.hash(state);
        hash_number(&self.radius, state);
        self.resolution.is_some().hash(state);
        self.resolution.iter().for_each(|resolution| hash_number(resolution, state));
    }
}

/// The arguments of `_geoBoundingBox`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rectangle {
    /// North-east corner.
    pub top_right: Point,
    /// South-west corner.
    pub bottom_left: Point,
}

/// The arguments of `_foreign` and `_element`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The field with references or elements.
    pub field: Text,
    /// The filter on the referenced documents or the elements.
    pub filter: Box<Filter>,
}

impl Filter {
    /// Heap memory of the tree in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let parts = |parts: &[Self]| size_of_val(parts) + parts.iter().map(Self::heap_bytes).sum::<usize>();
        let boxed = |part: &Self| size_of::<Self>() + part.heap_bytes();
        let texts =
            |texts: &[Text]| size_of_val(texts) + texts.iter().map(|text| text.value.len()).sum::<usize>();
        match self {
            Self::All(all) => parts(all),
            Self::Any(any) => parts(any),
            Self::Not(part) => boxed(part),
            Self::Condition { field, operator } => {
                let operands = match operator {
                    Operator::Equal(text)
                    | Operator::NotEqual(text)
                    | Operator::Greater(text)
                    | Operator::GreaterOrEqual(text)
                    | Operator::Lower(text)
                    | Operator::LowerOrEqual(text)
                    | Operator::Contains(text)
                    | Operator::StartsWith(text) => text.value.len(),
                    Operator::Between { from, to } => from.value.len() + to.value.len(),
                    Operator::In(all) => texts(all),
                    Operator::Exists | Operator::Null | Operator::Empty => 0,
                };
                field.value.len() + operands
            }
            Self::GeoRadius(_) | Self::GeoBoundingBox(_) => 0,
            Self::GeoPolygon(corners) => size_of_val(&*corners.value),
            Self::Vectors(names) => texts(&names.value),
            Self::Foreign(Spanned { value: Reference { field, filter }, .. })
            | Self::Element(Spanned { value: Reference { field, filter }, .. }) => {
                field.value.len() + boxed(filter)
            }
        }
    }
}

impl fmt::Display for Filter {
    /// Writes a filter that parses to an equal tree.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::All(parts) => write_joined(f, parts, " AND ", |f, part| match part {
                Filter::All(_) | Filter::Any(_) => write!(f, "({part})"),
                part => write!(f, "{part}"),
            }),
            Filter::Any(parts) => write_joined(f, parts, " OR ", |f, part| match part {
                Filter::Any(_) => write!(f, "({part})"),
                part => write!(f, "{part}"),
            }),
            Filter::Not(part) => match **part {
                Filter::All(_) | Filter::Any(_) => write!(f, "NOT ({part})"),
                _ => write!(f, "NOT {part}"),
            },
            Filter::Condition { field, operator } => write!(f, "{field} {operator}"),
            Filter::GeoRadius(Spanned { value: Circle { center, radius, resolution }, .. }) => {
                write!(f, "_geoRadius({}, {}, {}", center.lat.value, center.lng.value, radius.value)?;
                if let Some(resolution) = resolution {
                    write!(f, ", {}", resolution.value)?;
                }
                f.write_str(")")
            }
            Filter::GeoBoundingBox(Spanned { value: Rectangle { top_right, bottom_left }, .. }) => {
                write!(f, "_geoBoundingBox({top_right}, {bottom_left})")
            }
            Filter::GeoPolygon(points) => {
                f.write_str("_geoPolygon(")?;
                write_joined(f, &points.value, ", ", |f, point| write!(f, "{point}"))?;
                f.write_str(")")
            }
            Filter::Vectors(names) => {
                f.write_str(VECTORS)?;
                for name in &names.value {
                    f.write_str(".")?;
                    write_name(f, &name.value)?;
                }
                f.write_str(" EXISTS")
            }
            Filter::Foreign(Spanned { value: Reference { field, filter }, .. }) => {
                write!(f, "_foreign({field}, {filter})")
            }
            Filter::Element(Spanned { value: Reference { field, filter }, .. }) => {
                write!(f, "_element({field}, {filter})")
            }
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operator::Equal(text) => write!(f, "= {text}"),
            Operator::NotEqual(text) => write!(f, "!= {text}"),
            Operator::Greater(text) => write!(f, "> {text}"),
            Operator::GreaterOrEqual(text) => write!(f, ">= {text}"),
            Operator::Lower(text) => write!(f, "< {text}"),
            Operator::LowerOrEqual(text) => write!(f, "<= {text}"),
            Operator::Between { from, to } => write!(f, "{from} TO {to}"),
            Operator::In(texts) => {
                f.write_str("IN [")?;
                write_joined(f, texts, ", ", |f, text| write!(f, "{text}"))?;
                f.write_str("]")
            }
            Operator::Exists => f.write_str("EXISTS"),
            Operator::Null => f.write_str("IS NULL"),
            Operator::Empty => f.write_str("IS EMPTY"),
            Operator::Contains(text) => write!(f, "CONTAINS {text}"),
            Operator::StartsWith(text) => write!(f, "STARTS WITH {text}"),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_text(f, &self.value)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.lat.value, self.lng.value)
    }
}

fn write_joined<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    separator: &str,
    write_one: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            f.write_str(separator)?;
        }
        write_one(f, item)?;
    }
    Ok(())
}
