use std::fmt;
use std::ops::Range;

use crate::limits::{DEPTH_MAX, TEXTS_MAX};

/// Characters of the offending part that a message quotes.
const EXCERPT_CHARS_MAX: usize = 80;
/// Characters of the filter that a message quotes.
const SOURCE_CHARS_MAX: usize = 2000;

/// The kinds of errors in filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Expected a field or a parenthesis.
    ExpectedField,
    /// Expected a value.
    ExpectedValue,
    /// A field without an operator.
    ExpectedOperator,
    /// `IS` without `NULL` or `EMPTY`.
    ExpectedNullOrEmpty,
    /// `STARTS` without `WITH`.
    ExpectedWith,
    /// `field value` without `TO`.
    ExpectedTo,
    /// `IN` without its opening bracket.
    ExpectedOpeningBracket,
    /// A list contains something other than values, commas and its end.
    ExpectedListEnd,
    /// Something other than `AND`, `OR` or the end follows a condition.
    ExpectedEnd,
    /// An opened parenthesis is not closed.
    MissingParenthesis,
    /// An opened quote is not closed.
    MissingQuote,
    /// A backslash with an unknown escape.
    BadEscape,
    /// A keyword in place of a field or value.
    Keyword,
    /// `_geo`, `_geoDistance` or `_geoPoint` used as a field.
    ReservedGeo,
    /// `_geoRadius` without three or four numbers in parentheses.
    GeoRadiusArguments,
    /// `_geoBoundingBox` without two points in brackets.
    GeoBoundingBoxArguments,
    /// `_geoPolygon` without at least three points in brackets.
    GeoPolygonArguments,
    /// `_vectors` followed by something other than names, each after a dot.
    VectorNames,
    /// `_vectors` with an operator other than `EXISTS`.
    VectorOperator,
    /// `_foreign` without a field and an expression in parentheses.
    ForeignArguments,
    /// `_element` without a field and an expression in parentheses.
    ElementArguments,
    /// A condition inside `_element` that does not only concern fields of an element.
    NotAboutElements,
    /// Expected a number.
    ExpectedNumber,
    /// Parentheses and `NOT`s are nested deeper than [`DEPTH_MAX`].
    TooDeep,
    /// The filter contains more than [`TEXTS_MAX`] fields and values.
    TooLong,
}

/// A filter that does not parse.
///
/// Displayed as the cause and, on a second line, `start:end` and the filter. The span counts characters from 1; its end
/// is exclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The offending part, in bytes of the filter.
    pub span: Range<usize>,
    source: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, span: Range<usize>, source: &str) -> Self {
        Self { kind, span, source: source.to_owned() }
    }

    /// Returns the second line of a message about `span` (bytes, on character boundaries) of `source`.
    #[must_use]
    pub fn locate(source: &str, span: &Range<usize>) -> String {
        let start = source[..span.start].chars().count() + 1;
        let end = start + source[span.clone()].chars().count();
        match source.char_indices().nth(SOURCE_CHARS_MAX) {
            Some((cut, _)) => format!("{start}:{end} {}…", &source[..cut]),
            None => format!("{start}:{end} {source}"),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Found(&self.source[self.span.clone()]);
        match self.kind {
            ErrorKind::ExpectedField => write!(f, "expected a field or `(`, found {found}"),
            ErrorKind::ExpectedValue => write!(f, "expected a value, found {found}"),
            ErrorKind::ExpectedOperator => write!(
                f,
                "expected an operation after the field (`=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, \
                 `TO`, `EXISTS`, `NOT EXISTS`, `IS NULL`, `IS NOT NULL`, `IS EMPTY`, `IS NOT EMPTY`, \
                 `CONTAINS`, `NOT CONTAINS`, `STARTS WITH`, `NOT STARTS WITH`, `_geoRadius`, \
                 `_geoBoundingBox` or `_geoPolygon`), found {found}"
            ),
            ErrorKind::ExpectedNullOrEmpty => {
                write!(f, "expected `NULL`, `NOT NULL`, `EMPTY` or `NOT EMPTY` after `IS`, found {found}")
            }
            ErrorKind::ExpectedWith => write!(f, "expected `WITH` after `STARTS`, found {found}"),
            ErrorKind::ExpectedTo => write!(f, "expected `TO` between two values, found {found}"),
            ErrorKind::ExpectedOpeningBracket => write!(f, "expected `[` after `IN`, found {found}"),
            ErrorKind::ExpectedListEnd => write!(f, "expected `,` or `]` in a list, found {found}"),
            ErrorKind::ExpectedEnd => {
                write!(f, "expected `AND`, `OR` or the end of the filter, found {found}")
            }
            ErrorKind::MissingParenthesis => write!(f, "missing closing parenthesis, found {found}"),
            ErrorKind::MissingQuote => write!(f, "missing closing quote of {found}"),
            ErrorKind::BadEscape => write!(f, "unknown escape sequence {found}"),
            ErrorKind::Keyword => write!(f, "{found} is a reserved keyword; quote it to use it as a text"),
            ErrorKind::ReservedGeo => write!(
                f,
                "{found} is reserved and cannot be filtered on; use `_geoRadius(latitude, longitude, \
                 distance)` or `_geoBoundingBox([latitude, longitude], [latitude, longitude])`"
            ),
            ErrorKind::GeoRadiusArguments => write!(
                f,
                "`_geoRadius` takes a latitude, a longitude, a distance in metres and optionally a \
                 resolution, as in `_geoRadius(latitude, longitude, distance)`; found {found}"
            ),
            ErrorKind::GeoBoundingBoxArguments => write!(
                f,
                "`_geoBoundingBox` takes its top right and bottom left corners, as in \
                 `_geoBoundingBox([latitude, longitude], [latitude, longitude])`; found {found}"
            ),
            ErrorKind::GeoPolygonArguments => write!(
                f,
                "`_geoPolygon` takes three points or more, as in `_geoPolygon([latitude, longitude], \
                 [latitude, longitude], [latitude, longitude])`; found {found}"
            ),
            ErrorKind::VectorNames => {
                write!(
                    f,
                    "`_vectors` takes names, each behind a dot, as in `_vectors.embedder`; found {found}"
                )
            }
            ErrorKind::VectorOperator => {
                write!(f, "`_vectors` can only be asked for `EXISTS` or `NOT EXISTS`; found {found}")
            }
            ErrorKind::ForeignArguments => {
                write!(
                    f,
                    "`_foreign` takes a field and a filter, as in `_foreign(field, filter)`; found {found}"
                )
            }
            ErrorKind::ElementArguments => {
                write!(
                    f,
                    "`_element` takes a field and a filter, as in `_element(field, filter)`; found {found}"
                )
            }
            ErrorKind::NotAboutElements => {
                write!(f, "`_element` takes conditions on fields alone, found {found}")
            }
            ErrorKind::ExpectedNumber => write!(f, "expected a finite number, found {found}"),
            ErrorKind::TooDeep => {
                write!(f, "the filter nests deeper than {DEPTH_MAX} levels; remove some parentheses")
            }
            ErrorKind::TooLong => {
                write!(f, "the filter holds more than {TEXTS_MAX} fields and values; ask in several requests")
            }
        }?;
        write!(f, "\n{}", Self::locate(&self.source, &self.span))
    }
}

/// A part of the filter, quoted and shortened, or the end of the filter.
struct Found<'s>(&'s str);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(EXCERPT_CHARS_MAX) {
            _ if self.0.is_empty() => write!(f, "the end of the filter"),
            Some((end, _)) => write!(f, "`{}…`", &self.0[..end]),
            None => write!(f, "`{}`", self.0),
        }
    }
}
