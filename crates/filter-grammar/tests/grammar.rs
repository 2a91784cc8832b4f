//! 1. Valid filters are parsed with the documented precedence.
//! 2. Invalid filters are rejected with the position of the error.
//! 3. Nesting is limited, lists may be long, and time is linear in the text.
//! 4. A printed tree parses to the same tree.

use filter_grammar::{
    Circle, Error, ErrorKind, Filter, Operator, Point, Rectangle, Reference, Spanned, Text, parse,
};
use proptest::prelude::*;

#[test]
fn expressions_are_parsed_with_their_precedence() {
    // Each filter on the left is parsed and printed in the canonical form on the right.
    let cases = [
        ("a = b", "a = b"),
        ("a=b", "a = b"),
        ("  a\n=\tb  ", "a = b"),
        ("a != b OR c > 1", "a != b OR c > 1"),
        ("a >= 1 AND b <= 2", "a >= 1 AND b <= 2"),
        ("a<1", "a < 1"),
        ("a = 1 OR b = 2 AND c = 3", "a = 1 OR b = 2 AND c = 3"),
        ("(a = 1 OR b = 2) AND c = 3", "(a = 1 OR b = 2) AND c = 3"),
        ("((a = 1))", "a = 1"),
        ("NOT NOT a = 1", "a = 1"),
        ("NOT NOT NOT a = 1", "NOT a = 1"),
        ("NOT (NOT a = 1)", "a = 1"),
        ("NOT(a = 1 AND b = 2)", "NOT (a = 1 AND b = 2)"),
        ("price 5 TO 10.5", "price 5 TO 10.5"),
        ("a IN[1,2 , three]", "a IN [1, 2, three]"),
        ("a IN []", "a IN []"),
        ("a IN [1,]", "a IN [1]"),
        ("a NOT IN [1]", "NOT a IN [1]"),
        ("NOT a NOT IN [1]", "a IN [1]"),
        ("a IS NULL", "a IS NULL"),
        ("a IS NOT NULL", "NOT a IS NULL"),
        ("a IS EMPTY", "a IS EMPTY"),
        ("a IS NOT EMPTY", "NOT a IS EMPTY"),
        ("a EXISTS", "a EXISTS"),
        ("a EXISTS ", "a EXISTS"),
        ("a NOT EXISTS", "NOT a EXISTS"),
        ("a CONTAINS b", "a CONTAINS b"),
        ("a NOT CONTAINS 'b c'", "NOT a CONTAINS 'b c'"),
        ("a STARTS   WITH b", "a STARTS WITH b"),
        ("a NOT STARTS WITH b", "NOT a STARTS WITH b"),
        ("colour-1.shade_2 = Grün", "colour-1.shade_2 = Grün"),
        ("NOTE = INbox", "NOTE = INbox"),
        ("'AND' = \"OR\"", "'AND' = 'OR'"),
        ("and = or", "and = or"),
        ("a = ''", "a = ''"),
        ("a = 'it\\'s'", r"a = 'it\'s'"),
        (r#"a = "say \"hi\"""#, "a = 'say \"hi\"'"),
        (r"a = 'l1\nl2\ttab\\'", r"a = 'l1\nl2\ttab\\'"),
        (r"a = '\x41\u{20ac}'", "a = 'A€'"),
        ("_geoRadius(45.5, -9.1, 2000)", "_geoRadius(45.5, -9.1, 2000)"),
        ("_geoRadius( '45.5' ,-9.1,2000 , 64 )", "_geoRadius(45.5, -9.1, 2000, 64)"),
        ("_geoBoundingBox([1, 2], [-3, -4])", "_geoBoundingBox([1, 2], [-3, -4])"),
        ("_geoPolygon([1,2],[3,4],[5,6])", "_geoPolygon([1, 2], [3, 4], [5, 6])"),
        ("_geoPolygon = 1", "_geoPolygon = 1"),
        ("_foreign(author, id = 1 AND name = x)", "_foreign(author, id = 1 AND name = x)"),
        (
            "_element (cast,NOT role=hero OR _element(a.b, c EXISTS) )",
            "_element(cast, NOT role = hero OR _element(a.b, c EXISTS))",
        ),
        ("_element = 1", "_element = 1"),
        ("'_vectors.'=-", "'_vectors.' = -"),
        ("'_vectors' EXISTS AND _vectorsize = 1", "'_vectors' EXISTS AND _vectorsize = 1"),
        ("_vectors.image.userProvided EXISTS", "_vectors.image.userProvided EXISTS"),
    ];
    for (source, printed) in cases {
        let tree = parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(tree.expect("not blank").to_string(), printed, "{source}");
    }
}

#[test]
fn a_blank_filter_is_none() {
    for source in ["", " ", "\n\t "] {
        assert_eq!(parse(source), Ok(None));
    }
}

#[test]
fn a_rejected_filter_names_the_position() {
    use ErrorKind::*;
    let cases = [
        ("hello", ExpectedOperator, "6:6"),
        ("cool doggo", ExpectedOperator, "6:11"),
        ("a", ExpectedOperator, "2:2"),
        ("a =", ExpectedValue, "4:4"),
        ("a = AND", Keyword, "5:8"),
        ("AND = 1", Keyword, "1:4"),
        ("a = 1 AND", ExpectedField, "10:10"),
        ("a = 1 XOR b = 2", ExpectedEnd, "7:10"),
        ("title & Glass", ExpectedOperator, "7:8"),
        ("a = b c = d", ExpectedEnd, "7:8"),
        ("a 1 b", ExpectedTo, "5:6"),
        ("a 1 TO", ExpectedValue, "7:7"),
        ("(a = 1", MissingParenthesis, "7:7"),
        ("a = 1)", ExpectedEnd, "6:7"),
        ("a = 'b", MissingQuote, "5:7"),
        (r"a = 'b\d'", BadEscape, "7:9"),
        (r"a = '\u{110000}'", BadEscape, "6:16"),
        ("a IN 1", ExpectedOpeningBracket, "6:7"),
        ("a IN [1 2]", ExpectedListEnd, "9:10"),
        ("a IN [,]", ExpectedListEnd, "7:8"),
        ("a IN [OR]", Keyword, "7:9"),
        ("a IS 1", ExpectedNullOrEmpty, "6:7"),
        ("a STARTS b", ExpectedWith, "10:11"),
        ("a NOT = 1", ExpectedOperator, "7:8"),
        ("a and b", ExpectedTo, "7:8"),
        ("_geo = 1", ReservedGeo, "1:5"),
        ("_geoDistance < 1", ReservedGeo, "1:13"),
        ("_geoPoint(1, 2) = 3", ReservedGeo, "1:10"),
        ("_geoRadius(1, 2)", GeoRadiusArguments, "16:17"),
        ("_geoRadius = 1", GeoRadiusArguments, "12:13"),
        ("_geoRadius(1, 2, far)", ExpectedNumber, "18:21"),
        ("_geoRadius(1, NaN, 3)", ExpectedNumber, "15:18"),
        ("_geoBoundingBox(1, 2)", GeoBoundingBoxArguments, "17:18"),
        ("_geoPolygon([1,2],[3,4])", GeoPolygonArguments, "1:25"),
        ("_element(cast)", ElementArguments, "14:15"),
        ("_element(cast, NOT _geoRadius(1, 2, 3))", NotAboutElements, "20:39"),
        ("_element(cast, _foreign(a, b = 1))", NotAboutElements, "16:34"),
        ("été = 1 ou", ExpectedEnd, "9:11"),
    ];
    for (source, kind, span) in cases {
        let error = parse(source).expect_err(source);
        assert_eq!(error.kind, kind, "{error}");
        let message = error.to_string();
        let place = message.lines().next_back().expect("a last line");
        assert_eq!(place, format!("{span} {source}"), "{error}");
    }
}

#[test]
fn nesting_is_limited_to_the_documented_depth() {
    let parentheses = |n: usize| format!("{}a = 1{}", "(".repeat(n), ")".repeat(n));
    let nots = |n: usize| format!("{}a = 1", "NOT ".repeat(n));
    let both = |n: usize| format!("{}a = 1{}", "NOT (".repeat(n), ")".repeat(n));
    for (deepest, nested) in [(36, parentheses as fn(usize) -> String), (147, nots), (29, both)] {
        assert!(parse(&nested(deepest)).is_ok());
        for n in [deepest + 1, 100_000] {
            assert_eq!(parse(&nested(n)).map_err(|Error { kind, .. }| kind), Err(ErrorKind::TooDeep));
        }
    }
}

#[test]
fn lists_are_not_limited() {
    let values: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let any = values.iter().map(|n| format!("a = {n}")).collect::<Vec<_>>().join(" OR ");
    let Ok(Some(Filter::Any(parts))) = parse(&any) else { panic!("one flat group") };
    assert_eq!(parts.len(), 20_000);
    let list = format!("a IN [{}]", values.join(","));
    let Ok(Some(Filter::Condition { operator: Operator::In(texts), .. })) = parse(&list) else {
        panic!("a list")
    };
    assert_eq!(texts.len(), 20_000);
}

#[test]
fn spans_include_the_quotes() {
    let Ok(Some(Filter::Condition { field, operator: Operator::Equal(value) })) = parse("'é' = \"b\\\"c\"")
    else {
        panic!("an equality")
    };
    assert_eq!((field.value.as_str(), field.span), ("é", 0..4));
    assert_eq!((value.value.as_str(), value.span), ("b\"c", 7..13));
}

/// An arbitrary span: comparing trees ignores spans.
fn nowhere<T>(value: T) -> Spanned<T> {
    Spanned { value, span: 0..0 }
}

fn any_text() -> impl Strategy<Value = Text> {
    prop_oneof![
        "[a-zA-Z0-9_.-]{1,8}",
        "\\PC{0,8}",
        any::<String>(),
        prop::sample::select(vec!["AND", "NOT", "IN", "_geoRadius", "it's", "\\", "\u{0}"])
            .prop_map(str::to_owned),
    ]
    .prop_map(nowhere)
}

fn any_field() -> impl Strategy<Value = Text> {
    any_text()
        .prop_filter("reserved", |text| !matches!(text.value.as_str(), "_geo" | "_geoDistance" | "_geoPoint"))
}

fn any_number() -> impl Strategy<Value = Spanned<f64>> {
    (-1e6..1e6f64).prop_map(nowhere)
}

fn any_point() -> impl Strategy<Value = Point> {
    (any_number(), any_number()).prop_map(|(lat, lng)| Point { lat, lng })
}

fn any_operator() -> impl Strategy<Value = Operator> {
    prop_oneof![
        any_text().prop_map(Operator::Equal),
        any_text().prop_map(Operator::NotEqual),
        any_text().prop_map(Operator::Greater),
        any_text().prop_map(Operator::GreaterOrEqual),
        any_text().prop_map(Operator::Lower),
        any_text().prop_map(Operator::LowerOrEqual),
        (any_text(), any_text()).prop_map(|(from, to)| Operator::Between { from, to }),
        prop::collection::vec(any_text(), 0..4).prop_map(Operator::In),
        Just(Operator::Exists),
        Just(Operator::Null),
        Just(Operator::Empty),
        any_text().prop_map(Operator::Contains),
        any_text().prop_map(Operator::StartsWith),
    ]
}

fn any_filter() -> impl Strategy<Value = Filter> {
    let leaf = prop_oneof![
        8 => (any_field(), any_operator()).prop_map(|(field, operator)| Filter::Condition { field, operator }),
        1 => (any_point(), any_number(), prop::option::of(any_number())).prop_map(|(center, radius, resolution)| {
            Filter::GeoRadius(nowhere(Circle { center, radius, resolution }))
        }),
        1 => (any_point(), any_point()).prop_map(|(top_right, bottom_left)| {
            Filter::GeoBoundingBox(nowhere(Rectangle { top_right, bottom_left }))
        }),
        1 => prop::collection::vec(any_point(), 3..6).prop_map(|points| Filter::GeoPolygon(nowhere(points))),
    ];
    leaf.prop_recursive(6, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Filter::All),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Filter::Any),
            (any_text(), inner.clone()).prop_map(|(field, filter)| {
                Filter::Foreign(nowhere(Reference { field, filter: Box::new(filter) }))
            }),
            (any_text(), any_field(), any_operator()).prop_map(|(element, field, operator)| {
                let filter = Box::new(Filter::Condition { field, operator });
                Filter::Element(nowhere(Reference { field: element, filter }))
            }),
            inner.prop_map(|filter| match filter {
                Filter::Not(inner) => *inner,
                filter => Filter::Not(Box::new(filter)),
            }),
        ]
    })
}

proptest! {
    #[test]
    fn a_filter_survives_printing(tree in any_filter()) {
        let printed = tree.to_string();
        prop_assert_eq!(parse(&printed), Ok(Some(tree)), "{}", printed);
    }

    #[test]
    fn any_text_is_parsed_or_rejected_with_a_position_inside_it(source in "([a-c0-9_ =<>!()\\[\\],'\"\\\\]|AND|OR|NOT|IN|TO|IS|_geo|é){0,60}") {
        if let Err(error) = parse(&source) {
            prop_assert!(source.get(error.span.clone()).is_some(), "{:?}", error);
            prop_assert!(error.to_string().ends_with(&source));
        }
    }
}
