//! Tests an element against a filter.
//!
//! Values count as in columns: arrays by each of their elements, strings by their compared form.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Bound;

use filter_grammar::{Filter, Operator, Reference, Spanned, Text};
use serde_json::{Map, Value};

use super::limits::TESTS_PER_CHECK;
use super::scope::Scope;
use crate::analysis::normalize_facet;
use crate::error::{Error, Result};
use crate::facets::{compared_form, finite};
use crate::fields::is_same_or_below;

/// A filter on elements. Its operands have the form used for comparisons.
pub(super) enum ElementTest {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    /// Always false.
    Nothing,
    /// True if an object at a path below the element passes.
    Element(String, Box<Self>),
    /// True if the value at a path below the element passes.
    Field(String, ValueTest),
}

/// A condition on a value.
pub(super) enum ValueTest {
    Exists,
    Null,
    Empty,
    /// `numbers` are in ascending order.
    OneOf {
        forms: HashSet<String>,
        numbers: Vec<f64>,
    },
    Between {
        forms: (Bound<String>, Bound<String>),
        numbers: Option<(Bound<f64>, Bound<f64>)>,
    },
    Contains(String),
    StartsWith(String),
}

/// A match at a path: the value of a key, or a scalar in it, possibly inside arrays.
enum Found<'v> {
    Keyed(&'v Value),
    Scalar(&'v Value),
}

impl ElementTest {
    /// `path`: path of the elements. `can_hold` returns false for a condition on a path that no document has; such a
    /// condition is false.
    pub fn new(
        filter: &Filter,
        path: &str,
        can_hold: &impl Fn(&str, &Operator) -> Result<bool>,
    ) -> Result<Self> {
        let each = |parts: &[Filter]| {
            parts.iter().map(|part| Self::new(part, path, can_hold)).collect::<Result<Vec<Self>>>()
        };
        let below = |field: &Text| format!("{path}.{}", field.value);
        Ok(match filter {
            Filter::All(parts) => Self::All(each(parts)?),
            Filter::Any(parts) => Self::Any(each(parts)?),
            Filter::Not(part) => Self::Not(Box::new(Self::new(part, path, can_hold)?)),
            Filter::Condition { field, operator } if !can_hold(&below(field), operator)? => Self::Nothing,
            Filter::Condition { field, operator } => Self::condition(field.value.clone(), operator),
            Filter::Element(Spanned { value: Reference { field, filter }, .. }) => {
                let inner = Self::new(filter, &below(field), can_hold)?;
                Self::Element(field.value.clone(), Box::new(inner))
            }
            // The grammar excludes these inside elements.
            Filter::GeoRadius(_)
            | Filter::GeoBoundingBox(_)
            | Filter::GeoPolygon(_)
            | Filter::Vectors(_)
            | Filter::Foreign(_) => Self::Nothing,
        })
    }

    fn condition(field: String, operator: &Operator) -> Self {
        let form = |text: &Text| normalize_facet(&text.value);
        let one_of = |texts: &[Text]| {
            let mut numbers: Vec<f64> =
                texts.iter().filter_map(|text| finite(&text.value)).map(unsigned).collect();
            numbers.sort_unstable_by(f64::total_cmp);
            ValueTest::OneOf { forms: texts.iter().map(form).collect(), numbers }
        };
        let between = |from: Bound<&Text>, to: Bound<&Text>| {
            let number = |bound: Bound<&Text>| {
                let number = bound.map(|text| finite(&text.value));
                Some(match number {
                    Bound::Included(number) => Bound::Included(number?),
                    Bound::Excluded(number) => Bound::Excluded(number?),
                    Bound::Unbounded => Bound::Unbounded,
                })
            };
            ValueTest::Between {
                forms: (from.map(form), to.map(form)),
                numbers: number(from).zip(number(to)),
            }
        };
        let test = match operator {
            Operator::Equal(text) => one_of(std::slice::from_ref(text)),
            Operator::NotEqual(text) => {
                let equal = Self::Field(field, one_of(std::slice::from_ref(text)));
                return Self::Not(Box::new(equal));
            }
            Operator::Greater(text) => between(Bound::Excluded(text), Bound::Unbounded),
            Operator::GreaterOrEqual(text) => between(Bound::Included(text), Bound::Unbounded),
            Operator::Lower(text) => between(Bound::Unbounded, Bound::Excluded(text)),
            Operator::LowerOrEqual(text) => between(Bound::Unbounded, Bound::Included(text)),
            Operator::Between { from, to } => between(Bound::Included(from), Bound::Included(to)),
            Operator::In(texts) => one_of(texts),
            Operator::Exists => ValueTest::Exists,
            Operator::Null => ValueTest::Null,
            Operator::Empty => ValueTest::Empty,
            Operator::Contains(text) => ValueTest::Contains(form(text)),
            Operator::StartsWith(text) if form(text).is_empty() => ValueTest::Exists,
            Operator::StartsWith(text) => ValueTest::StartsWith(form(text)),
        };
        Self::Field(field, test)
    }

    /// Returns true if an element passes. After the time limit every element passes, and [`Clock::result`] fails.
    pub fn passes(&self, element: &Map<String, Value>, clock: &Clock<'_>) -> bool {
        if clock.is_over() {
            return true;
        }
        match self {
            Self::All(parts) => parts.iter().all(|part| part.passes(element, clock)),
            Self::Any(parts) => parts.iter().any(|part| part.passes(element, clock)),
            Self::Not(part) => !part.passes(element, clock),
            Self::Nothing => false,
            Self::Element(path, inner) => {
                any_object(element, path, &mut |object| inner.passes(object, clock))
            }
            Self::Field(path, test) => {
                any_at(element, path, &mut |found| clock.is_over() || test.holds(&found))
            }
        }
    }
}

/// Checks the time limit of a filter while elements are tested.
pub(super) struct Clock<'a> {
    scope: &'a Scope<'a>,
    tests: Cell<u32>,
    failure: RefCell<Option<Error>>,
}

impl<'a> Clock<'a> {
    pub fn new(scope: &'a Scope<'a>) -> Self {
        Self { scope, tests: Cell::default(), failure: RefCell::default() }
    }

    /// Counts a test. Returns true once tests are useless, because time ran out or the client disconnected.
    fn is_over(&self) -> bool {
        let tests = self.tests.get();
        if tests < TESTS_PER_CHECK {
            self.tests.set(tests + 1);
            return false;
        }
        if self.failure.borrow().is_some() {
            return true;
        }
        self.tests.set(0);
        match self.scope.check() {
            Ok(()) => false,
            Err(error) => {
                self.failure.replace(Some(error));
                self.tests.set(TESTS_PER_CHECK);
                true
            }
        }
    }

    /// # Errors
    /// The error of [`Scope::check`], if it failed during a test.
    pub fn result(&self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// Turns minus zero into zero, so that equal numbers are equal in total order.
fn unsigned(number: f64) -> f64 {
    if number == 0.0 { 0.0 } else { number }
}

impl ValueTest {
    fn holds(&self, found: &Found<'_>) -> bool {
        match (self, found) {
            (Self::Exists, Found::Keyed(_)) | (Self::Null, Found::Keyed(Value::Null)) => true,
            (Self::Empty, Found::Keyed(value)) => match value {
                Value::String(text) => text.is_empty(),
                Value::Array(values) => values.is_empty(),
                Value::Object(object) => object.is_empty(),
                Value::Null | Value::Bool(_) | Value::Number(_) => false,
            },
            (Self::Exists | Self::Null | Self::Empty, _) | (_, Found::Keyed(_)) => false,
            (_, Found::Scalar(Value::Number(number))) => {
                number.as_f64().is_some_and(|number| self.takes_number(number))
            }
            (_, Found::Scalar(Value::Bool(truth))) => self.takes_text(if *truth { "true" } else { "false" }),
            (_, Found::Scalar(Value::String(text))) => {
                compared_form(text).is_some_and(|form| self.takes_text(&form))
            }
            (_, Found::Scalar(_)) => false,
        }
    }

    fn takes_number(&self, number: f64) -> bool {
        match self {
            Self::OneOf { numbers, .. } => {
                numbers.binary_search_by(|one| one.total_cmp(&unsigned(number))).is_ok()
            }
            Self::Between { numbers: Some(range), .. } => std::ops::RangeBounds::contains(range, &number),
            _ => false,
        }
    }

    fn takes_text(&self, form: &str) -> bool {
        match self {
            Self::OneOf { forms, .. } => forms.contains(form),
            Self::Between { forms: (from, to), .. } => {
                let after = match from {
                    Bound::Included(from) => form >= from.as_str(),
                    Bound::Excluded(from) => form > from.as_str(),
                    Bound::Unbounded => true,
                };
                after
                    && match to {
                        Bound::Included(to) => form <= to.as_str(),
                        Bound::Excluded(to) => form < to.as_str(),
                        Bound::Unbounded => true,
                    }
            }
            Self::Contains(part) => form.contains(part),
            Self::StartsWith(prefix) => form.starts_with(prefix),
            Self::Exists | Self::Null | Self::Empty => false,
        }
    }
}

/// How a key matches the beginning of a path.
enum PathMatch<'p> {
    /// The key is the path.
    Exact,
    /// The key is a prefix of the path. Holds the rest, which is empty if the path ends with a dot.
    Prefix(&'p str),
    /// No match.
    None,
}

fn match_path<'p>(key: &str, path: &'p str) -> PathMatch<'p> {
    match path.strip_prefix(key) {
        Some("") => PathMatch::Exact,
        Some(rest) if is_same_or_below(key, path) => {
            PathMatch::Prefix(rest.strip_prefix('.').unwrap_or(rest))
        }
        _ => PathMatch::None,
    }
}

/// Returns true if an object at a dotted path passes. Paths lead through arrays; keys may contain dots.
pub(super) fn any_object(
    object: &Map<String, Value>,
    path: &str,
    passes: &mut dyn FnMut(&Map<String, Value>) -> bool,
) -> bool {
    object.iter().any(|(key, value)| match match_path(key, path) {
        PathMatch::Exact => objects(value, passes),
        PathMatch::Prefix(rest) => objects(value, &mut |inner| any_object(inner, rest, passes)),
        PathMatch::None => false,
    })
}

fn objects(value: &Value, passes: &mut dyn FnMut(&Map<String, Value>) -> bool) -> bool {
    match value {
        Value::Object(object) => passes(object),
        Value::Array(values) => values.iter().any(|value| objects(value, passes)),
        _ => false,
    }
}

fn any_at(object: &Map<String, Value>, path: &str, holds: &mut dyn FnMut(Found<'_>) -> bool) -> bool {
    object.iter().any(|(key, value)| match match_path(key, path) {
        PathMatch::Exact => holds(Found::Keyed(value)) || scalars(value, holds),
        PathMatch::Prefix(rest) => objects(value, &mut |inner| any_at(inner, rest, holds)),
        PathMatch::None => false,
    })
}

fn scalars(value: &Value, holds: &mut dyn FnMut(Found<'_>) -> bool) -> bool {
    match value {
        Value::Array(values) => values.iter().any(|value| scalars(value, holds)),
        Value::Object(_) => false,
        scalar => holds(Found::Scalar(scalar)),
    }
}
