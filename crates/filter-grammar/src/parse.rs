use std::ops::Range;

use winnow::LocatingSlice;
use winnow::Parser;
use winnow::ascii::multispace0;
use winnow::combinator::{opt, peek, preceded};
use winnow::error::ParserError;
use winnow::stream::{Location, Stateful, Stream};
use winnow::token::{any, take_while};

use crate::error::{Error, ErrorKind};
use crate::limits::{DEPTH_MAX, TEXTS_MAX};
use crate::text::{VECTORS, begins_vectors, is_keyword, is_word_char};
use crate::tree::{Circle, Filter, Number, Operator, Point, Rectangle, Reference, Spanned, Text};

const PARENTHESES_DEPTH: usize = 4;
const NOT_DEPTH: usize = 1;
const CONDITION_DEPTH: usize = 3;

/// A filter during parsing, with the number of texts it may still contain.
type Input<'s> = Stateful<LocatingSlice<&'s str>, usize>;
type Result<T> = std::result::Result<T, Fault>;

/// An [`Error`] without the text of the filter.
#[derive(Debug, Clone)]
struct Fault {
    kind: ErrorKind,
    span: Range<usize>,
}

impl<'s> ParserError<Input<'s>> for Fault {
    type Inner = Self;

    fn from_input(input: &Input<'s>) -> Self {
        fault(ErrorKind::ExpectedEnd, input)
    }

    fn into_inner(self) -> std::result::Result<Self::Inner, Self> {
        Ok(self)
    }
}

/// Parses a filter; `None` if it is blank.
///
/// # Errors
/// The first error and its position. [`TEXTS_MAX`] limits fields, values and points, [`DEPTH_MAX`] nesting.
pub fn parse(source: &str) -> std::result::Result<Option<Filter>, Error> {
    parse_within(source, &mut { TEXTS_MAX })
}

/// Parses one of several filters that share a limit of texts. Subtracts its texts from `texts_left`.
///
/// # Errors
/// Same as [`parse`].
pub fn parse_within(source: &str, texts_left: &mut usize) -> std::result::Result<Option<Filter>, Error> {
    let mut input = Input { input: LocatingSlice::new(source), state: *texts_left };
    let filter = whole(&mut input).map_err(|Fault { kind, span }| Error::new(kind, span, source))?;
    *texts_left = input.state;
    Ok(filter)
}

fn whole(input: &mut Input<'_>) -> Result<Option<Filter>> {
    multispace0.parse_next(input)?;
    if input.is_empty() {
        return Ok(None);
    }
    let filter = any_of(input, 0)?;
    multispace0.parse_next(input)?;
    if input.is_empty() { Ok(Some(filter)) } else { Err(fault(ErrorKind::ExpectedEnd, input)) }
}

fn any_of(input: &mut Input<'_>, depth: usize) -> Result<Filter> {
    let mut parts = vec![all_of(input, depth)?];
    while keyword(input, "OR") {
        parts.push(all_of(input, depth)?);
    }
    Ok(single_or(parts, Filter::Any))
}

fn all_of(input: &mut Input<'_>, depth: usize) -> Result<Filter> {
    let mut parts = vec![not(input, depth)?];
    while keyword(input, "AND") {
        parts.push(not(input, depth)?);
    }
    Ok(single_or(parts, Filter::All))
}

fn single_or(mut parts: Vec<Filter>, group: fn(Vec<Filter>) -> Filter) -> Filter {
    if parts.len() == 1 { parts.swap_remove(0) } else { group(parts) }
}

fn not(input: &mut Input<'_>, mut depth: usize) -> Result<Filter> {
    let mut negated = false;
    while keyword(input, "NOT") {
        negated = !negated;
        depth += NOT_DEPTH;
        check_depth(input, depth)?;
    }
    let filter = primary(input, depth)?;
    Ok(if negated { negate(filter) } else { filter })
}

/// Returns `NOT filter`; two negations cancel each other.
fn negate(filter: Filter) -> Filter {
    match filter {
        Filter::Not(inner) => *inner,
        filter => Filter::Not(Box::new(filter)),
    }
}

fn check_depth(input: &Input<'_>, depth: usize) -> Result<()> {
    if depth + CONDITION_DEPTH > DEPTH_MAX { Err(fault(ErrorKind::TooDeep, input)) } else { Ok(()) }
}

fn primary(input: &mut Input<'_>, depth: usize) -> Result<Filter> {
    if symbol(input, "(") {
        let depth = depth + PARENTHESES_DEPTH;
        check_depth(input, depth)?;
        let filter = any_of(input, depth)?;
        expect(input, ")", ErrorKind::MissingParenthesis)?;
        return Ok(filter);
    }
    multispace0.parse_next(input)?;
    let start = input.current_token_start();
    let before = input.checkpoint();
    match opt(word).parse_next(input)? {
        Some("_geoRadius") => geo_radius(input, start),
        Some("_geoBoundingBox") => geo_bounding_box(input, start),
        Some("_geoPolygon") if at_symbol(input, "(") => geo_polygon(input, start),
        Some(word) if begins_vectors(word) => vectors(input, word, start),
        Some("_foreign") if at_symbol(input, "(") => {
            reference(input, start, depth, ErrorKind::ForeignArguments).map(Filter::Foreign)
        }
        Some("_element") if at_symbol(input, "(") => element(input, start, depth),
        _ => {
            input.reset(&before);
            condition(input)
        }
    }
}

/// Parses `_vectors[.name]… [NOT] EXISTS`, after `first` was read. Names may be quoted; only dots separate them.
fn vectors(input: &mut Input<'_>, first: &str, start: usize) -> Result<Filter> {
    // `None` is a dot.
    let mut parts: Vec<Option<Text>> = Vec::new();
    let add_word = |word: &str, start: usize, parts: &mut Vec<Option<Text>>| {
        let mut at = start;
        for (position, name) in word.split('.').enumerate() {
            if position > 0 {
                parts.push(None);
                at += 1;
            }
            if !name.is_empty() {
                parts.push(Some(Spanned { value: name.to_owned(), span: at..at + name.len() }));
            }
            at += name.len();
        }
    };
    add_word(&first[VECTORS.len()..], start + VECTORS.len(), &mut parts);
    loop {
        let at = input.current_token_start();
        if let Some(quote) = opt(one_quote).parse_next(input)? {
            parts.push(Some(quoted(input, quote, at)?));
        } else if let Some(word) = opt(word).parse_next(input)? {
            add_word(word, at, &mut parts);
        } else {
            break;
        }
    }
    let span = start..input.previous_token_end();
    let by_turns = parts.iter().enumerate().all(|(at, part)| part.is_none() == (at % 2 == 0));
    if !by_turns || parts.len() % 2 == 1 {
        return Err(Fault { kind: ErrorKind::VectorNames, span });
    }
    let negated = keyword(input, "NOT");
    if !keyword(input, "EXISTS") {
        return Err(fault(ErrorKind::VectorOperator, input));
    }
    let filter = Filter::Vectors(Spanned { value: parts.into_iter().flatten().collect(), span });
    Ok(if negated { negate(filter) } else { filter })
}

fn condition(input: &mut Input<'_>) -> Result<Filter> {
    let field = text(input, ErrorKind::ExpectedField)?;
    if matches!(field.value.as_str(), "_geo" | "_geoDistance" | "_geoPoint") {
        return Err(Fault { kind: ErrorKind::ReservedGeo, span: field.span });
    }
    let (operator, negated) = operator(input)?;
    let condition = Filter::Condition { field, operator };
    Ok(if negated { negate(condition) } else { condition })
}

/// Makes an operator of the text after its sign.
type Comparison = fn(Text) -> Operator;

/// Parses the operator after a field. The flag is true if it is negated.
fn operator(input: &mut Input<'_>) -> Result<(Operator, bool)> {
    // For symbols with a common prefix, the longest comes first.
    let comparisons: [(&str, Comparison); 6] = [
        ("!=", Operator::NotEqual),
        (">=", Operator::GreaterOrEqual),
        ("<=", Operator::LowerOrEqual),
        ("=", Operator::Equal),
        (">", Operator::Greater),
        ("<", Operator::Lower),
    ];
    for (sign, comparison) in comparisons {
        if symbol(input, sign) {
            return Ok((comparison(text(input, ErrorKind::ExpectedValue)?), false));
        }
    }
    if keyword(input, "IS") {
        let negated = keyword(input, "NOT");
        return if keyword(input, "NULL") {
            Ok((Operator::Null, negated))
        } else if keyword(input, "EMPTY") {
            Ok((Operator::Empty, negated))
        } else {
            Err(fault(ErrorKind::ExpectedNullOrEmpty, input))
        };
    }
    let negated = keyword(input, "NOT");
    if keyword(input, "IN") {
        Ok((Operator::In(list(input)?), negated))
    } else if keyword(input, "EXISTS") {
        Ok((Operator::Exists, negated))
    } else if keyword(input, "CONTAINS") {
        Ok((Operator::Contains(text(input, ErrorKind::ExpectedValue)?), negated))
    } else if keyword(input, "STARTS") {
        if !keyword(input, "WITH") {
            return Err(fault(ErrorKind::ExpectedWith, input));
        }
        Ok((Operator::StartsWith(text(input, ErrorKind::ExpectedValue)?), negated))
    } else if negated {
        Err(fault(ErrorKind::ExpectedOperator, input))
    } else {
        Ok((between(input)?, false))
    }
}

fn between(input: &mut Input<'_>) -> Result<Operator> {
    let rest = fault(ErrorKind::ExpectedOperator, input);
    // A keyword or the end after a field means a missing operator, not a missing value.
    let from = text(input, ErrorKind::ExpectedOperator).map_err(|fault| match fault.kind {
        ErrorKind::Keyword => rest,
        _ => fault,
    })?;
    if !keyword(input, "TO") {
        let at_end = preceded(multispace0, peek(opt(any::<_, Fault>))).parse_next(input)?.is_none();
        let kind = if at_end { ErrorKind::ExpectedOperator } else { ErrorKind::ExpectedTo };
        return Err(if at_end { Fault { kind, span: from.span } } else { fault(kind, input) });
    }
    Ok(Operator::Between { from, to: text(input, ErrorKind::ExpectedValue)? })
}

fn list(input: &mut Input<'_>) -> Result<Vec<Text>> {
    expect(input, "[", ErrorKind::ExpectedOpeningBracket)?;
    let mut values = Vec::new();
    while !symbol(input, "]") {
        values.push(text(input, ErrorKind::ExpectedListEnd)?);
        if !symbol(input, ",") {
            expect(input, "]", ErrorKind::ExpectedListEnd)?;
            break;
        }
    }
    Ok(values)
}

fn geo_radius(input: &mut Input<'_>, start: usize) -> Result<Filter> {
    let arguments = ErrorKind::GeoRadiusArguments;
    expect(input, "(", arguments)?;
    let lat = number(input)?;
    expect(input, ",", arguments)?;
    let lng = number(input)?;
    expect(input, ",", arguments)?;
    let radius = number(input)?;
    let resolution = if symbol(input, ",") { Some(number(input)?) } else { None };
    expect(input, ")", arguments)?;
    let circle = Circle { center: Point { lat, lng }, radius, resolution };
    Ok(Filter::GeoRadius(Spanned { value: circle, span: start..input.previous_token_end() }))
}

fn geo_bounding_box(input: &mut Input<'_>, start: usize) -> Result<Filter> {
    let arguments = ErrorKind::GeoBoundingBoxArguments;
    expect(input, "(", arguments)?;
    let top_right = point(input, arguments)?;
    expect(input, ",", arguments)?;
    let bottom_left = point(input, arguments)?;
    expect(input, ")", arguments)?;
    let rectangle = Rectangle { top_right, bottom_left };
    Ok(Filter::GeoBoundingBox(Spanned { value: rectangle, span: start..input.previous_token_end() }))
}

fn geo_polygon(input: &mut Input<'_>, start: usize) -> Result<Filter> {
    let arguments = ErrorKind::GeoPolygonArguments;
    expect(input, "(", arguments)?;
    let mut points = vec![point(input, arguments)?];
    while symbol(input, ",") {
        points.push(point(input, arguments)?);
    }
    expect(input, ")", arguments)?;
    let span = start..input.previous_token_end();
    if points.len() < 3 {
        return Err(Fault { kind: arguments, span });
    }
    Ok(Filter::GeoPolygon(Spanned { value: points, span }))
}

/// Parses the rest of `name(field, filter)`. `start`: position of the name.
fn reference(
    input: &mut Input<'_>,
    start: usize,
    depth: usize,
    arguments: ErrorKind,
) -> Result<Spanned<Reference>> {
    let depth = depth + PARENTHESES_DEPTH;
    check_depth(input, depth)?;
    expect(input, "(", arguments)?;
    let field = text(input, arguments)?;
    expect(input, ",", arguments)?;
    let filter = Box::new(any_of(input, depth)?);
    expect(input, ")", arguments)?;
    Ok(Spanned { value: Reference { field, filter }, span: start..input.previous_token_end() })
}

fn element(input: &mut Input<'_>, start: usize, depth: usize) -> Result<Filter> {
    let element = reference(input, start, depth, ErrorKind::ElementArguments)?;
    match not_about_elements(&element.value.filter) {
        Some(span) => Err(Fault { kind: ErrorKind::NotAboutElements, span }),
        None => Ok(Filter::Element(element)),
    }
}

/// Returns the first part of a filter that does not only concern fields of an element.
fn not_about_elements(filter: &Filter) -> Option<Range<usize>> {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter().find_map(not_about_elements),
        Filter::Not(part) => not_about_elements(part),
        Filter::Condition { .. } | Filter::Element(_) => None,
        Filter::GeoRadius(Spanned { span, .. })
        | Filter::GeoBoundingBox(Spanned { span, .. })
        | Filter::GeoPolygon(Spanned { span, .. })
        | Filter::Vectors(Spanned { span, .. })
        | Filter::Foreign(Spanned { span, .. }) => Some(span.clone()),
    }
}

fn point(input: &mut Input<'_>, arguments: ErrorKind) -> Result<Point> {
    expect(input, "[", arguments)?;
    let lat = number(input)?;
    expect(input, ",", arguments)?;
    let lng = number(input)?;
    expect(input, "]", arguments)?;
    Ok(Point { lat, lng })
}

fn number(input: &mut Input<'_>) -> Result<Number> {
    let text = text(input, ErrorKind::ExpectedNumber)?;
    match text.number() {
        Some(value) => Ok(Spanned { value, span: text.span }),
        None => Err(Fault { kind: ErrorKind::ExpectedNumber, span: text.span }),
    }
}

/// Parses a quoted text, or a word that is not a keyword. `missing`: error if there is neither.
fn text(input: &mut Input<'_>, missing: ErrorKind) -> Result<Text> {
    multispace0.parse_next(input)?;
    let start = input.current_token_start();
    let Some(left) = input.state.checked_sub(1) else { return Err(fault(ErrorKind::TooLong, input)) };
    input.state = left;
    if let Some(quote) = opt(one_quote).parse_next(input)? {
        return quoted(input, quote, start);
    }
    match opt(word).parse_next(input)? {
        None => Err(fault(missing, input)),
        Some(word) => {
            let span = start..input.previous_token_end();
            if is_keyword(word) {
                return Err(Fault { kind: ErrorKind::Keyword, span });
            }
            Ok(Spanned { value: word.to_owned(), span })
        }
    }
}

/// Parses the rest of a text after its opening `quote` at `start`.
fn quoted(input: &mut Input<'_>, quote: char, start: usize) -> Result<Text> {
    let mut value = String::new();
    loop {
        let plain: &str = take_while(0.., |c| c != quote && c != '\\').parse_next(input)?;
        value.push_str(plain);
        let at = input.current_token_start();
        match opt(any::<_, Fault>).parse_next(input)? {
            Some('\\') => value.push(escape(input, at)?),
            Some(_) => return Ok(Spanned { value, span: start..input.previous_token_end() }),
            None => return Err(Fault { kind: ErrorKind::MissingQuote, span: start..at }),
        }
    }
}

/// Parses an escape after its backslash at `start`.
fn escape(input: &mut Input<'_>, start: usize) -> Result<char> {
    let decoded = match opt(any::<_, Fault>).parse_next(input)? {
        Some(c @ ('\'' | '"' | '\\')) => Some(c),
        Some('n') => Some('\n'),
        Some('t') => Some('\t'),
        Some('r') => Some('\r'),
        Some('x') => {
            opt(take_while(2..=2, |c: char| c.is_ascii_hexdigit())).parse_next(input)?.and_then(code)
        }
        Some('u') => {
            let digits = take_while(1..=6, |c: char| c.is_ascii_hexdigit());
            opt(('{', digits, '}')).parse_next(input)?.and_then(|(_, digits, _)| code(digits))
        }
        _ => None,
    };
    decoded.ok_or_else(|| Fault { kind: ErrorKind::BadEscape, span: start..input.previous_token_end() })
}

fn code(digits: &str) -> Option<char> {
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
}

fn one_quote(input: &mut Input<'_>) -> Result<char> {
    any.verify(|c| matches!(c, '\'' | '"')).parse_next(input)
}

fn word<'s>(input: &mut Input<'s>) -> Result<&'s str> {
    take_while(1.., is_word_char).parse_next(input)
}

/// Consumes `expected` if it is the next complete word. Returns true if so.
fn keyword(input: &mut Input<'_>, expected: &str) -> bool {
    let keyword = preceded(multispace0, word.verify(|found: &str| found == expected));
    matches!(opt(keyword).parse_next(input), Ok(Some(_)))
}

/// Consumes `expected` if it comes next. Returns true if so.
fn symbol(input: &mut Input<'_>, expected: &str) -> bool {
    matches!(opt(preceded(multispace0::<_, Fault>, expected)).parse_next(input), Ok(Some(_)))
}

fn at_symbol(input: &mut Input<'_>, expected: &str) -> bool {
    peek(opt(preceded(multispace0::<_, Fault>, expected)))
        .parse_next(input)
        .is_ok_and(|found| found.is_some())
}

fn expect(input: &mut Input<'_>, expected: &str, kind: ErrorKind) -> Result<()> {
    if symbol(input, expected) { Ok(()) } else { Err(fault(kind, input)) }
}

/// An error about the next word, or else the next character, or else the end.
fn fault(kind: ErrorKind, input: &Input<'_>) -> Fault {
    let rest: &str = input.input.as_ref();
    let start = input.current_token_start() + (rest.len() - rest.trim_start().len());
    let rest = rest.trim_start();
    let word = rest.find(|c| !is_word_char(c)).unwrap_or(rest.len());
    let end = start + word.max(rest.chars().next().map_or(0, char::len_utf8));
    Fault { kind, span: start..end }
}
