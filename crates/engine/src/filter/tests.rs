//! 1. Each operator selects the documents in the documented table.
//! 2. Errors have the scope's code, list the allowed values and give the position in the text.
//! 3. Rules determine the operators of a field; only the first matching rule counts.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::*;
use crate::error::{Error, Result, UserError};
use crate::fixture::snapshot_of;
use crate::settings::Settings;
use crate::store::Snapshot;

fn documents() -> Vec<Json> {
    vec![
        json!({"price": 10, "tag": "Sea", "stock": null, "a": {"b": [1, 2]}, "note": ""}),
        json!({"price": "10", "tag": ["sea", "Sky"], "a": {}}),
        json!({"price": 25, "tag": [], "stock": 0}),
        json!({"price": [5, 30], "tag": "skyline"}),
        json!({"price": "abc", "ghost.x": 1}),
    ]
}

fn settings(filterable: Json) -> Settings {
    Settings { filterable_attributes: serde_json::from_value(filterable).unwrap(), ..Settings::default() }
}

fn everything() -> Settings {
    settings(json!(["price", "tag", "stock", "a", "note", "ghost", "_geo"]))
}

fn scope() -> Scope<'static> {
    let features = Features { contains_filter: true, ..Features::default() };
    Scope {
        code: "invalid_document_filter",
        index_uid: None,
        features,
        stop: None,
        until: None,
        foreign: None,
    }
}

/// Matching documents, numbered from 1.
fn selected(snapshot: &Snapshot, filter: &Json) -> Result<Vec<u32>> {
    match parse(filter, &scope())? {
        Some(expression) => {
            Ok(select(snapshot, &expression, &scope())?.iter().map(|docid| docid + 1).collect())
        }
        None => Ok(snapshot.documents().iter().map(|docid| docid + 1).collect()),
    }
}

#[test]
fn filters_are_equal_if_they_mean_the_same() {
    let parsed = |filter: &Json| parse(filter, &scope()).unwrap().unwrap();
    for (one, other, equal) in [
        (json!("price = 10"), json!("price=10"), true),
        (json!(["price = 10", "tag = sea"]), json!(["price=10", "tag = 'sea'"]), true),
        (json!("price = 10"), json!("price = 11"), false),
        (json!("price = 10"), json!(["price = 10"]), false),
        (json!(["price = 10"]), json!([["price = 10"]]), false),
        (json!(["price = 10"]), json!(["price = 10", "price = 10"]), false),
    ] {
        assert_eq!(parsed(&one) == parsed(&other), equal, "{one} and {other}");
        assert_eq!(parsed(&other) == parsed(&one), equal, "{other} and {one}");
    }
}

#[test]
fn conditions_select_the_documents_in_the_table() {
    let cases: &[(Json, &[u32])] = &[
        (json!("price = 10"), &[1, 2]),
        (json!("price != 10"), &[3, 4, 5]),
        (json!("price > 9"), &[1, 3, 4, 5]),
        (json!("price < 9"), &[2, 4]),
        (json!("price >= 25"), &[3, 4, 5]),
        (json!("price <= 10"), &[1, 2, 4]),
        (json!("price 5 TO 10"), &[1, 4]),
        (json!("price 30 TO 5"), &[]),
        (json!("price = \"10\""), &[1, 2]),
        (json!("tag = SEA"), &[1, 2]),
        (json!("tag IN [sea, skyline]"), &[1, 2, 4]),
        (json!("tag IN []"), &[]),
        (json!("tag NOT IN [sea]"), &[3, 4, 5]),
        (json!("NOT tag = sea"), &[3, 4, 5]),
        (json!("tag CONTAINS ky"), &[2, 4]),
        (json!("tag STARTS WITH sk"), &[2, 4]),
        (json!("tag STARTS WITH ''"), &[1, 2, 3, 4]),
        (json!("tag EXISTS"), &[1, 2, 3, 4]),
        (json!("tag NOT EXISTS"), &[5]),
        (json!("tag IS EMPTY"), &[3]),
        (json!("note IS EMPTY"), &[1]),
        (json!("note = ''"), &[]),
        (json!("a IS EMPTY"), &[2]),
        (json!("a EXISTS"), &[1, 2]),
        (json!("a.b = 2"), &[1]),
        (json!("stock IS NULL"), &[1]),
        (json!("stock IS NOT NULL"), &[2, 3, 4, 5]),
        (json!("stock EXISTS"), &[1, 3]),
        (json!("tag = sea OR price = 25 AND stock = 0"), &[1, 2, 3]),
        (json!("(tag = sea OR price = 25) AND stock = 0"), &[3]),
        (json!("price = 25 OR price = abc OR tag = skyline"), &[3, 4, 5]),
        (json!("tag = 'sea' AND NOT NOT price = 10"), &[1, 2]),
        (json!("ghost = 1"), &[]),
        (json!("ghost != 1"), &[]),
        (json!("ghost EXISTS"), &[]),
        (json!("NOT ghost = 1"), &[1, 2, 3, 4, 5]),
        (json!("ghost.x != 2"), &[1, 2, 3, 4, 5]),
        (json!(["price > 9", ["tag = sea", "tag = skyline"]]), &[1, 4]),
        (json!(["", ["  "]]), &[1, 2, 3, 4, 5]),
        (json!([]), &[1, 2, 3, 4, 5]),
        (json!(""), &[1, 2, 3, 4, 5]),
        (json!(null), &[1, 2, 3, 4, 5]),
    ];
    let all = documents();
    for parts in [vec![&all[..]], all.chunks(1).collect::<Vec<_>>()] {
        let snapshot = snapshot_of(&parts, everything());
        for (filter, expected) in cases {
            assert_eq!(selected(&snapshot, filter).unwrap(), *expected, "{filter}");
            // The second answer comes from the cache.
            assert_eq!(selected(&snapshot, filter).unwrap(), *expected, "{filter}");
        }
    }
}

#[test]
fn long_lists_select_the_same_as_short_lists() {
    let documents: Vec<Json> = (0..500).map(|n| json!({"tag": format!("T{n}"), "price": n})).collect();
    let snapshot = snapshot_of(&[&documents[..300], &documents[300..]], everything());
    let many: Vec<String> = (0..20_000).filter(|n| n % 7 == 0).map(|n| n.to_string()).collect();
    let expected: Vec<u32> = (0..500).filter(|n| n % 7 == 0).map(|n| n + 1).collect();
    assert_eq!(
        selected(&snapshot, &json!(format!("price IN [{}]", many.join(","))).clone()).unwrap(),
        expected
    );
    let tags: Vec<String> = many.iter().map(|n| format!("tag = t{n}")).collect();
    assert_eq!(selected(&snapshot, &json!(tags.join(" OR "))).unwrap(), expected);
}

fn mistake(snapshot: &Snapshot, filter: &Json) -> UserError {
    match selected(snapshot, filter) {
        Err(crate::error::Error::User(error)) => error,
        other => panic!("{filter}: {other:?}"),
    }
}

#[test]
fn errors_have_code_cause_and_position() {
    let document = "invalid_document_filter";
    let rules = json!(["tag", {
        "attributePatterns": ["pri*"],
        "features": {"facetSearch": false, "filter": {"equality": true, "comparison": false}}
    }]);
    let snapshot = snapshot_of(&[&documents()], settings(rules));
    let cases = [
        (json!("tag = "), document, "1:1"),
        (
            json!("size = 1"),
            document,
            "Attribute `size` is not filterable. Available filterable attribute patterns are: `pri*`, `tag`.\n1:5 size = 1",
        ),
        (json!("tag = a OR tages = b"), document, "12:17 tag = a OR tages = b"),
        (json!("price > 1"), "invalid_search_filter", "does not allow comparison operators"),
        (json!("_geo = 1"), document, "_geoRadius("),
        (json!("'_geo' = 1"), document, "_geoRadius("),
        (json!("_geoRadius(1, 2, 3)"), document, "`_geo` is not filterable"),
        (json!("_vectors EXISTS"), "feature_not_enabled", "multimodal"),
        (json!("_foreign(tag, id = 1)"), "feature_not_enabled", "foreign"),
        (json!(7), document, "found `7`"),
        (json!([["tag = a", ["tag = b"]]]), document, "found `[\"tag = b\"]`"),
    ];
    for (filter, code, fragment) in cases {
        let error = mistake(&snapshot, &filter);
        assert_eq!(error.code, code, "{filter}: {error}");
        let fragment = if fragment == "1:1" { "expected a value" } else { fragment };
        assert!(error.message.contains(fragment), "{filter}: {error}");
    }
    assert_eq!(selected(&snapshot, &json!("price = 10")).unwrap(), [1, 2]);
    assert_eq!(selected(&snapshot, &json!("price EXISTS")).unwrap(), [1, 2, 3, 4, 5]);
}

#[test]
fn points_out_of_range_are_rejected() {
    let snapshot = snapshot_of(&[&documents()], everything());
    for (filter, fragment) in [
        ("_geoRadius(91, 0, 1)", "bad latitude `91`: expected -90 to 90\n12:14 _geoRadius(91, 0, 1)"),
        ("_geoRadius(0, -181, 1)", "bad longitude `-181`"),
        ("_geoRadius(0, 0, 1, 2)", "bad resolution `2`"),
        ("_geoBoundingBox([1, 1], [2, 0])", "top latitude `1` is below the bottom latitude `2`"),
    ] {
        let message = mistake(&snapshot, &json!(filter)).message;
        assert!(message.contains(fragment), "{message}");
    }
}

#[test]
fn contains_is_rejected_without_its_feature() {
    let scope = Scope { features: Features::default(), ..scope() };
    let error = parse(&json!("tag CONTAINS a"), &scope).unwrap_err();
    assert_eq!(error.code(), "feature_not_enabled");
    let ask = |filter: &str, multimodal: bool| {
        let features = json!({"containsFilter": true, "legacySearch": false, "multimodal": multimodal});
        check(json!({"filter": filter, "features": features}).to_string().as_bytes())
    };
    assert!(ask("tag CONTAINS a", false).is_ok());
    assert_eq!(ask("tag CONTAINS", false).unwrap_err().code(), "invalid_search_filter");
    assert!(ask("_vectors.v EXISTS", true).is_ok());
    assert_eq!(ask("_vectors.v EXISTS", false).unwrap_err().code(), "feature_not_enabled");
}

#[test]
fn errors_name_the_index_if_the_scope_has_one() {
    let snapshot = snapshot_of(&[&documents()], everything());
    let scope = Scope { index_uid: Some("films"), ..scope() };
    let expression = parse(&json!("size = 1"), &scope).unwrap().unwrap();
    let message = select(&snapshot, &expression, &scope).unwrap_err().to_string();
    assert!(message.starts_with("Index `films`: Attribute `size`"), "{message}");
}

#[test]
fn elements_pass_one_at_a_time() {
    let documents = [
        json!({"a": [{"b": 1, "c": "X"}, {"b": 2, "c": "y"}]}),
        json!({"a": [{"b": 1, "c": "y"}, {"b": 2, "c": "x"}]}),
        json!({"a": {"b": 1, "c": "x", "d": [{"e": null}, {"e": ""}]}}),
        json!({"a": [[{"b": [1, 3]}], 1, "x"]}),
        json!({"a": []}),
    ];
    let snapshot = snapshot_of(&[&documents[..2], &documents[2..]], settings(json!(["a"])));
    let cases: &[(&str, &[u32])] = &[
        ("a.b = 1 AND a.c = x", &[1, 2, 3]),
        ("_element(a, b = 1 AND c = x)", &[1, 3]),
        ("NOT _element(a, b = 1 AND c = x)", &[2, 4, 5]),
        ("_element(a, b = 1 AND c != x)", &[2, 4]),
        ("_element(a, NOT b = 1)", &[1, 2]),
        ("_element(a, b > 1 AND b < 3)", &[1, 2, 4]),
        ("_element(a, c NOT EXISTS)", &[4]),
        ("_element(a, _element(d, e IS NULL))", &[3]),
        ("_element(a.d, e IS EMPTY)", &[3]),
        ("_element(a, z != 1)", &[]),
        ("_element(a, c STARTS WITH '')", &[1, 2, 3]),
        ("_element(a, b = 2) AND _element(a, c CONTAINS x)", &[1, 2]),
    ];
    for (filter, expected) in cases {
        assert_eq!(selected(&snapshot, &json!(filter)).unwrap(), *expected, "{filter}");
    }
    let error = mistake(&snapshot, &json!("_element(b, c = 1)"));
    assert_eq!(error.code, "invalid_document_filter", "{error}");
    assert!(error.message.contains("`b.c` is not filterable"), "{error}");
}

#[test]
fn a_slow_filter_fails_with_its_code() {
    let large = json!({"a": [{"b": {"c": "blue"}}], "n": 1});
    let small: Vec<Json> = (0..2000).map(|n| json!({"n": format!("{n} blue")})).collect();
    let snapshot = snapshot_of(&[&[large], &small], settings(json!(["a", "n"])));
    let many = |condition: &dyn Fn(u32) -> String, word: &str| {
        (0..20_000).map(condition).collect::<Vec<_>>().join(word)
    };
    let filters = [
        many(&|at| format!("n CONTAINS 'red{at}'"), " OR "),
        format!("_element(a, {})", many(&|at| format!("b.c CONTAINS 'red{at}'"), " OR ")),
    ];
    for filter in &filters {
        let scope = Scope { until: Some(Instant::now() + Duration::from_millis(5)), ..scope() };
        let expression = parse(&json!(filter), &scope).unwrap().unwrap();
        match select(&snapshot, &expression, &scope) {
            Err(Error::User(error)) => {
                assert_eq!(error.code, "invalid_document_filter");
                assert!(error.message.starts_with("the filter takes longer than 3000 ms"), "{error}");
            }
            other => panic!("{}: {other:?}", &filter[..40]),
        }
    }
}

#[test]
fn an_element_filter_takes_many_values() {
    let numbers: Vec<Json> = (0..1000).map(|n| json!({"b": n})).chain([json!({"b": -0.0})]).collect();
    let documents = [json!({"a": numbers}), json!({"a": [{"b": "1"}]}), json!({"a": [{"b": 2.5}]})];
    let snapshot = snapshot_of(&[&documents], settings(json!(["a"])));
    let cases: &[(&str, &[u32])] =
        &[("7, 7, 2.5", &[1, 3]), ("'0'", &[1]), ("1", &[1, 2]), ("x, -1", &[]), ("2.50", &[3])];
    for (values, expected) in cases {
        let filter = json!(format!("_element(a, b IN [{values}])"));
        assert_eq!(selected(&snapshot, &filter).unwrap(), *expected, "{values}");
    }
}

#[test]
fn foreign_filters_become_lists_of_ids() {
    struct One(Snapshot);
    impl Indexes for One {
        fn newest(&self, _: &str) -> Result<Snapshot> {
            Ok(self.0.clone())
        }
    }
    let numbered = |count: u32| (0..count).map(|id| json!({"id": id, "n": id})).collect::<Vec<_>>();
    let other = One(snapshot_of(&[&numbered(1001)], settings(json!(["n"]))));
    let documents =
        [json!({"id": 1, "a": 3}), json!({"id": 2, "a": ["4", 2000]}), json!({"id": 3, "a": "x"})];
    let snapshot = snapshot_of(&[&documents], settings(json!(["a", "id"])));
    let key = |name: &str, access: Json| json!({"fieldName": name, "foreignIndexUid": "o", "access": access});
    let keys: Vec<ForeignKey> = serde_json::from_value(json!([
        key("a", json!({"kind": "granted", "index": "o", "filter": "n != 4"})),
        key("id", json!({"kind": "granted", "index": "o", "filter": null})),
        key("m", json!({"kind": "missing"})),
        key("r", json!({"kind": "refused", "message": "no"})),
    ]))
    .unwrap();
    let ask = |filter: &str| -> Result<Vec<u32>> {
        let indexes = ForeignIndexes::new(&other);
        let features = Features { foreign_keys: true, ..Features::default() };
        let foreign = Some(Foreign { keys: &keys, indexes: &indexes });
        let scope = Scope { features, foreign, ..scope() };
        Ok(passing(&snapshot, &json!(filter), &scope)?.iter().map(|docid| docid + 1).collect())
    };
    assert_eq!(ask("_foreign(a, n = 3)").unwrap(), [1]);
    assert_eq!(ask("_foreign(a, n = 4)").unwrap(), [] as [u32; 0], "hidden");
    assert_eq!(ask("_foreign(id, n = 3) OR NOT _foreign(a, n < 100)").unwrap(), [2, 3]);
    for (filter, code) in [
        ("_foreign(b, n = 1)", "invalid_search_filter"),
        ("_foreign(a, _foreign(id, n = 1))", "invalid_search_filter"),
        ("_foreign(id, n >= 0)", "invalid_search_filter"),
        ("_foreign(a, x = 1)", "invalid_document_filter"),
        ("_foreign(m, n = 1)", "index_not_found"),
        ("_foreign(r, n = 1)", "invalid_api_key"),
    ] {
        assert_eq!(ask(filter).unwrap_err().code(), code, "{filter}");
    }
}
