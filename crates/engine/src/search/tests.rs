//! 1. A hit contains the attributes that are requested and displayed, spelled and ordered as stored.
//! 2. Matches are marked, cropped and located as in the documented table.
//! 3. Answers have their keys in the documented order; totals and pages follow the requested paging.
//! 4. Documents of any depth are returned.
//! 5. A request that the settings do not allow is rejected with its code.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde_json::{Value as Json, json};

use super::*;
use crate::error::Result;
use crate::fixture::snapshot_of;
use crate::settings::Settings;
use crate::store::Snapshot;

/// A search as completed by `http/`, with some members replaced.
pub(crate) fn request(changes: &Json) -> Json {
    let mut request = json!({
        "indexUid": "films", "q": null, "paging": {"kind": "offset", "offset": 0, "limit": 20},
        "attributesToRetrieve": null, "attributesToCrop": null, "cropLength": 10, "cropMarker": "…",
        "attributesToHighlight": null, "highlightPreTag": "<em>", "highlightPostTag": "</em>",
        "showMatchesPosition": false, "filter": null, "sort": null, "distinct": null, "facets": null,
        "matchingStrategy": "last", "attributesToSearchOn": null, "rankingScoreThreshold": null,
        "locales": null, "hybrid": null, "vector": null, "retrieveVectors": false,
        "showRankingScore": false, "showRankingScoreDetails": false, "showPerformanceDetails": false,
        "features": {"containsFilter": false, "legacySearch": false},
        "requestUid": "0190-uid", "metadata": null
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        request[key] = value.clone();
    }
    request
}

fn try_text(snapshot: &Snapshot, changes: &Json) -> Result<String> {
    let request = serde_json::to_vec(&request(changes)).unwrap();
    Ok(String::from_utf8(run(snapshot, &request, Instant::now(), &())?.body).unwrap())
}

fn text(snapshot: &Snapshot, changes: &Json) -> String {
    try_text(snapshot, changes).unwrap()
}

fn search(snapshot: &Snapshot, changes: &Json) -> Json {
    serde_json::from_str(&text(snapshot, changes)).unwrap()
}

fn hits(snapshot: &Snapshot, changes: &Json) -> Vec<Json> {
    search(snapshot, changes)["hits"].as_array().unwrap().clone()
}

fn ids(snapshot: &Snapshot, changes: &Json) -> Vec<i64> {
    hits(snapshot, changes).iter().map(|hit| hit["id"].as_i64().unwrap()).collect()
}

fn settings(value: Json) -> Settings {
    let mut all = serde_json::to_value(json!({})).unwrap();
    for (key, value) in value.as_object().unwrap() {
        all[key] = value.clone();
    }
    serde_json::from_value(all).unwrap()
}

const KEEPER: &str = "The lighthouse keeper wrote a long letter to the harbour master about the broken lamp and \
                      the storm that came over the bay";
const RAIN: &str = "Rain, rain. Go away! Come again another day; little Johnny wants to play.";

fn texts() -> Snapshot {
    let texts = [
        KEEPER,
        "Light house, lighthouses and a lighthouse.",
        "Crème brûlée recipe",
        "nyc pizza new york pizza",
        RAIN,
    ];
    let documents: Vec<Json> = texts.iter().enumerate().map(|(id, t)| json!({"id": id, "t": t})).collect();
    snapshot_of(&[&documents], settings(json!({"synonyms": {"nyc": ["new york"]}})))
}

#[test]
fn matches_are_marked_and_located() {
    let snapshot = texts();
    // Query, document, marked text, positions.
    let cases = [
        ("keep", 0, "The lighthouse <em>keep</em>er wrote", vec![(15, 4)]),
        ("keepre", 0, "The lighthouse <em>keeper</em> wrote", vec![(15, 6)]),
        (
            "lighthouse",
            1,
            "<em>Light house</em>, <em>lighthouse</em>s and a <em>lighthouse</em>.",
            vec![(0, 11), (13, 10), (31, 10)],
        ),
        (
            "lighthouse ",
            1,
            "<em>Light house</em>, <em>lighthouses</em> and a <em>lighthouse</em>.",
            vec![(0, 11), (13, 11), (31, 10)],
        ),
        ("creme brul", 2, "<em>Crème</em> <em>brûl</em>ée recipe", vec![(0, 6), (7, 5)]),
        ("nyc ", 3, "<em>nyc</em> pizza <em>new york</em> pizza", vec![(0, 3), (10, 8)]),
        ("\"broken lamp\"", 0, "the <em>broken lamp</em> and", vec![(74, 11)]),
    ];
    for (q, id, marked, positions) in cases {
        let changes = json!({"q": q, "attributesToHighlight": ["t"], "showMatchesPosition": true});
        let found = hits(&snapshot, &changes);
        let hit = found.iter().find(|hit| hit["id"] == id).unwrap_or_else(|| panic!("{q}: {found:?}"));
        let formatted = hit["_formatted"]["t"].as_str().unwrap();
        assert!(formatted.contains(marked), "{q}: {formatted}");
        let positions: Vec<Json> =
            positions.iter().map(|(start, length)| json!({"start": start, "length": length})).collect();
        assert_eq!(hit["_matchesPosition"], json!({"t": positions}), "{q}");
    }
}

#[test]
fn texts_are_cropped_around_their_best_matches() {
    let snapshot = texts();
    let cases = [
        ("storm", 0, 5, "…and the <em>storm</em> that came…"),
        ("lamp storm", 0, 6, "…broken <em>lamp</em> and the <em>storm</em> that…"),
        ("keeper storm", 0, 4, "The lighthouse <em>keeper</em> wrote…"),
        ("keeper letter storm bay", 0, 8, "The lighthouse <em>keeper</em> wrote a long <em>letter</em> to…"),
        ("bay", 0, 4, "…came over the <em>bay</em>"),
        ("letter", 0, 1, "…<em>letter</em>…"),
        ("\"broken lamp\" storm", 0, 3, "…the <em>broken lamp</em>…"),
        ("\"broken lamp and the storm\"", 0, 3, "…<em>broken lamp and</em>…"),
        ("johnny", 4, 4, "… little <em>Johnny</em> wants to…"),
        ("away", 4, 3, "…rain. Go <em>away</em>…"),
        ("storm", 0, 0, "storm</em> that came over the bay"),
    ];
    for (q, id, length, expected) in cases {
        let crop = format!("t:{length}");
        let found = hits(
            &snapshot,
            &json!({"q": q, "attributesToHighlight": ["*"], "attributesToCrop": [crop], "attributesToRetrieve": ["id"]}),
        );
        let hit = found.iter().find(|hit| hit["id"] == id).unwrap_or_else(|| panic!("{q}: {found:?}"));
        let formatted = hit["_formatted"]["t"].as_str().unwrap();
        if length == 0 {
            assert!(formatted.starts_with("The lighthouse") && formatted.ends_with(expected), "{formatted}");
        } else {
            assert_eq!(formatted, expected, "{q}");
        }
    }
    let tags = json!({
        "q": "day play", "attributesToHighlight": ["t"], "attributesToCrop": ["t"], "cropLength": 5,
        "cropMarker": "[…]", "highlightPreTag": "**", "highlightPostTag": "**"
    });
    assert_eq!(hits(&snapshot, &tags)[0]["_formatted"]["t"], "[…]away! Come again another **day**[…]");
    let misspelt = json!({"q": "recippe", "attributesToHighlight": ["t"]});
    assert_eq!(hits(&snapshot, &misspelt)[0]["_formatted"]["t"], "Crème brûlée <em>recipe</em>");
    let unmatched = json!({"q": "", "attributesToCrop": ["t:3"], "filter": null});
    assert_eq!(hits(&snapshot, &unmatched)[0]["_formatted"]["t"], "The lighthouse keeper…");
}

#[test]
fn nested_values_are_formatted_leaf_by_leaf() {
    let document =
        json!({"id": 1, "title": "Blue Moon", "meta": {"tags": ["blue lamp", "red"], "n": 7, "ok": true}});
    let snapshot = snapshot_of(&[std::slice::from_ref(&document)], Settings::default());
    let found =
        hits(&snapshot, &json!({"q": "blue", "attributesToHighlight": ["*"], "showMatchesPosition": true}));
    let formatted = json!({
        "id": "1", "title": "<em>Blue</em> Moon",
        "meta": {"tags": ["<em>blue</em> lamp", "red"], "n": "7", "ok": true}
    });
    let positions = json!({
        "title": [{"start": 0, "length": 4}], "meta.tags": [{"start": 0, "length": 4, "indices": [0]}]
    });
    let mut expected = document;
    expected["_formatted"] = formatted;
    expected["_matchesPosition"] = positions;
    assert_eq!(found, [expected]);

    let list = json!({"id": 2, "l": ["blue", "x", "a blue one", "y"]});
    let snapshot_of_list = snapshot_of(&[&[list]], Settings::default());
    let last = hits(&snapshot_of_list, &json!({"q": "blue", "showMatchesPosition": true}));
    assert_eq!(last[0]["_matchesPosition"], json!({"l": [{"start": 2, "length": 4, "indices": [2]}]}));

    let cropped = json!({"q": "blue", "attributesToCrop": ["title:1"], "attributesToRetrieve": ["id"]});
    assert_eq!(hits(&snapshot, &cropped), [json!({"id": 1, "_formatted": {"id": "1", "title": "Blue…"}})]);
    let parent = json!({"q": "lamp", "attributesToHighlight": ["meta", "ghost"], "attributesToRetrieve": []});
    let formatted = json!({"meta": {"tags": ["blue <em>lamp</em>", "red"], "n": "7", "ok": true}});
    assert_eq!(hits(&snapshot, &parent), [json!({"_formatted": formatted})]);
    let nothing = json!({"q": "lamp", "attributesToHighlight": ["ghost"], "attributesToRetrieve": ["title"]});
    assert_eq!(hits(&snapshot, &nothing), [json!({"title": "Blue Moon"})]);
}

#[test]
fn a_hit_contains_requested_and_displayed_attributes() {
    let source = json!({
        "z": 1.50, "id": 1, "a": {"b": [1, {"c": 2, "d": 3}], "e": "x"}, "a.b": "literal", "_vectors": {"m": [1]}
    });
    let of = |displayed: Json, retrieve: Json| {
        let snapshot = snapshot_of(
            &[std::slice::from_ref(&source)],
            settings(json!({"displayedAttributes": displayed})),
        );
        let text = text(&snapshot, &json!({"attributesToRetrieve": retrieve}));
        text.split_once("\"hits\":[").unwrap().1.split_once("],\"query\"").unwrap().0.to_owned()
    };
    let all = r#"{"z":1.5,"id":1,"a":{"b":[1,{"c":2,"d":3}],"e":"x"},"a.b":"literal"}"#;
    let cases = [
        (json!(["*"]), json!(null), all),
        (json!(["*"]), json!(["*", "id"]), all),
        (json!(["*"]), json!(["id", "z"]), r#"{"z":1.5,"id":1}"#),
        (json!(["*"]), json!(["a.b.c"]), r#"{"a":{"b":[{"c":2}]}}"#),
        (json!(["*"]), json!(["a.b"]), r#"{"a":{"b":[1,{"c":2,"d":3}]},"a.b":"literal"}"#),
        (json!(["*"]), json!(["a.x", "ghost"]), "{}"),
        (json!(["*"]), json!([]), "{}"),
        (json!(["*"]), json!(["_vectors"]), "{}"),
        (json!(["a"]), json!(null), r#"{"a":{"b":[1,{"c":2,"d":3}],"e":"x"}}"#),
        (json!(["a.e", "id"]), json!(["a", "z"]), r#"{"a":{"e":"x"}}"#),
        (json!(["a"]), json!(["a.e"]), r#"{"a":{"e":"x"}}"#),
        (json!(["a"]), json!(["a.b"]), r#"{"a":{"b":[1,{"c":2,"d":3}]}}"#),
        (json!([]), json!(null), "{}"),
    ];
    for (displayed, retrieve, expected) in cases {
        assert_eq!(of(displayed.clone(), retrieve.clone()), expected, "{displayed} {retrieve}");
    }
}

#[test]
fn numbers_keep_their_spelling_and_depth_has_no_limit() {
    use super::projection::{Selection, project_plain};
    let depth = 200_000;
    let deep = format!("{{\"n\":1e400,\"d\":{}0{}}}", "[{\"k\":".repeat(depth), "}]".repeat(depth));
    let mut out = Vec::new();
    project_plain(&deep, &Selection::Paths(vec!["n".into(), "d".into()]), &[], &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), deep);
    let mut out = Vec::new();
    project_plain(&deep, &Selection::Paths(vec!["n".into(), "d.x".into()]), &[], &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), "{\"n\":1e400}");
}

#[test]
fn an_answer_has_its_keys_in_order() {
    let documents: Vec<Json> = (0..45).map(|id| json!({"id": id, "t": "mug", "n": id % 3})).collect();
    let snapshot =
        snapshot_of(&[&documents[..30], &documents[30..]], settings(json!({"filterableAttributes": ["n"]})));
    let offset = json!({
        "q": "mug", "paging": {"kind": "offset", "offset": 44, "limit": 5}, "facets": ["*"], "filter": "n > 0 OR n = 0",
        "attributesToRetrieve": ["id"], "showRankingScore": true, "metadata": {"queryUid": "u"}
    });
    let text = text(&snapshot, &offset);
    let time = text.split("\"processingTimeMs\":").nth(1).unwrap().split(',').next().unwrap();
    let expected = format!(
        "{{\"hits\":[{{\"id\":44,\"_rankingScore\":1.0}}],\"query\":\"mug\",\"processingTimeMs\":{time},\
         \"limit\":5,\"offset\":44,\"estimatedTotalHits\":45,\
         \"facetDistribution\":{{\"n\":{{\"0\":15,\"1\":15,\"2\":15}}}},\
         \"facetStats\":{{\"n\":{{\"min\":0.0,\"max\":2.0}}}},\"requestUid\":\"0190-uid\",\
         \"metadata\":{{\"queryUid\":\"u\"}}}}"
    );
    assert_eq!(text, expected);
    let page = |page: usize, per_page: usize| {
        let found =
            search(&snapshot, &json!({"paging": {"kind": "page", "page": page, "hitsPerPage": per_page}}));
        (found["hits"].as_array().unwrap().len(), found["totalHits"].clone(), found["totalPages"].clone())
    };
    assert_eq!(page(3, 20), (5, json!(45), json!(3)));
    assert_eq!(page(4, 20), (0, json!(45), json!(3)));
    assert_eq!(page(0, 20), (0, json!(45), json!(3)));
    assert_eq!(page(1, 0), (0, json!(45), json!(0)));
    assert_eq!(page(usize::MAX, usize::MAX), (0, json!(45), json!(1)));
}

#[test]
fn pages_end_at_the_reachable_hits_but_totals_do_not() {
    let documents: Vec<Json> = (0..45).map(|id| json!({"id": id})).collect();
    let snapshot = snapshot_of(&[&documents], settings(json!({"pagination": {"maxTotalHits": 10}})));
    let window = json!({"paging": {"kind": "offset", "offset": 8, "limit": 5}});
    assert_eq!(ids(&snapshot, &window), [8, 9]);
    assert_eq!(search(&snapshot, &window)["estimatedTotalHits"], 45);
    let legacy = json!({"features": {"legacySearch": true}});
    assert_eq!(search(&snapshot, &legacy)["estimatedTotalHits"], 10);
}

#[test]
fn distances_are_shown_when_sorted_by_them() {
    let at = |id: u32, lat: f64, lng: f64| json!({"id": id, "_geo": {"lat": lat, "lng": lng}});
    let documents =
        [at(1, 45.75, 4.85), at(2, 45.77, 4.83), at(3, 43.3, 5.37), at(4, 45.76, 4.84), json!({"id": 5})];
    let geo = settings(json!({"sortableAttributes": ["_geo"], "filterableAttributes": ["_geo"]}));
    let snapshot = snapshot_of(&[&documents], geo);
    let sorted = json!({"sort": ["_geoPoint(45.76, 4.84):asc"]});
    assert_eq!(ids(&snapshot, &sorted), [4, 1, 2, 3, 5]);
    let distances: Vec<Json> = hits(&snapshot, &sorted)
        .iter()
        .map(|hit| hit.get("_geoDistance").cloned().unwrap_or_default())
        .collect();
    assert_eq!(distances, [json!(0), json!(1356), json!(1356), json!(276745), json!(null)]);
    let without = json!({"sort": ["_geoPoint(45.76,4.84):asc"], "attributesToRetrieve": ["id"]});
    assert_eq!(hits(&snapshot, &without)[0], json!({"id": 4}));
    assert_eq!(ids(&snapshot, &json!({"filter": "_geoRadius(45.76,4.84,1355.8)"})), [2, 4]);
}

#[test]
fn facets_name_parents_and_patterns() {
    let documents = [
        json!({"id": 1, "p": [{"n": "x"}, {"n": "y"}], "year": 2001}),
        json!({"id": 2, "year": 1999, "yeast": "a"}),
    ];
    let rules = json!(["p", {"attributePatterns": ["ye*"], "features": {
        "facetSearch": false, "filter": {"equality": true, "comparison": false}}}]);
    let snapshot = snapshot_of(&[&documents], settings(json!({"filterableAttributes": rules})));
    let facets = |names: Json| search(&snapshot, &json!({"facets": names}))["facetDistribution"].clone();
    assert_eq!(facets(json!(["p"])), json!({"p": {}, "p.n": {"x": 1, "y": 1}}));
    assert_eq!(facets(json!(["year", "year"])), json!({"year": {"1999": 1, "2001": 1}}));
    assert_eq!(facets(json!(["*st"])), json!({"yeast": {"a": 1}}));
    assert_eq!(facets(json!(["yellow"])), json!({}));
    assert_eq!(facets(json!([])), Json::Null);
    let all = facets(json!(["*"]));
    assert_eq!(all.as_object().unwrap().keys().collect::<Vec<_>>(), ["p", "p.n", "year", "yeast"]);
}

#[test]
fn requests_that_the_settings_do_not_allow_are_rejected() {
    let documents = [json!({"id": 1, "n": 1, "m": 2})];
    let rules = json!(["words", "typo"]);
    let some = json!({"filterableAttributes": ["n"], "sortableAttributes": ["n", "_geo"]});
    let snapshot = snapshot_of(&[&documents], settings(some.clone()));
    let mut without = some;
    without["rankingRules"] = rules;
    let unsorted = snapshot_of(&[&documents], settings(without));
    let cases = [
        (&snapshot, json!({"filter": "m = 1"}), "invalid_search_filter", "`m`"),
        (&snapshot, json!({"filter": "n ="}), "invalid_search_filter", "4:4 n ="),
        (&snapshot, json!({"facets": ["m"]}), "invalid_search_facets", "`n`"),
        (&snapshot, json!({"distinct": "m"}), "invalid_search_distinct", "`m`"),
        (&snapshot, json!({"sort": ["m:asc"]}), "invalid_search_sort", "`m`"),
        (&snapshot, json!({"sort": ["n"]}), "invalid_search_sort", "`n`"),
        (&snapshot, json!({"sort": ["n:up"]}), "invalid_search_sort", "`n:up`"),
        (&snapshot, json!({"sort": ["_geo:asc"]}), "invalid_search_sort", "_geoPoint"),
        (&snapshot, json!({"sort": ["_geoPoint(1):asc"]}), "invalid_search_sort", "_geoPoint(1)"),
        (&snapshot, json!({"sort": ["_geoPoint(91,1):asc"]}), "invalid_search_sort", "-90 to 90"),
        (&snapshot, json!({"sort": ["_geoRadius(1,1,1):asc"]}), "invalid_search_sort", "reserved"),
        (&unsorted, json!({"sort": ["n:asc"]}), "invalid_search_sort", "`sort`"),
        (
            &snapshot,
            json!({"q": "a", "hybrid": {"embedder": "e", "semanticRatio": 0.5}}),
            "invalid_search_embedder",
            "`e`",
        ),
    ];
    for (snapshot, changes, code, fragment) in cases {
        let error = try_text(snapshot, &changes).expect_err(&changes.to_string());
        assert_eq!(error.code(), code, "{changes}: {error}");
        assert!(error.to_string().contains(fragment), "{changes}: {error}");
    }
}

fn list(snapshot: &Snapshot, changes: Json) -> Result<Json> {
    let mut request = json!({
        "indexUid": "films", "offset": 0, "limit": 20, "fields": null, "retrieveVectors": false, "ids": null,
        "filter": null, "sort": null, "features": {"containsFilter": false, "legacySearch": false}
    });
    for (key, value) in changes.as_object().unwrap() {
        request[key] = value.clone();
    }
    Ok(serde_json::from_slice(&documents(snapshot, request.to_string().as_bytes(), &())?).unwrap())
}

#[test]
fn documents_are_listed_filtered_and_sorted() {
    let all: Vec<Json> = (0..30).map(|id| json!({"id": id, "n": id % 4, "m": {"k": -id}})).collect();
    let chosen =
        json!({"filterableAttributes": ["n"], "sortableAttributes": ["n", "m"], "displayedAttributes": []});
    let snapshot = snapshot_of(&[&all[..11], &all[11..]], settings(chosen));
    let ids = |changes: Json| -> Vec<i64> {
        let listed = list(&snapshot, changes).unwrap();
        listed["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|document| document["id"].as_i64().unwrap())
            .collect()
    };
    let page = list(&snapshot, json!({"offset": 28, "limit": 5})).unwrap();
    assert_eq!(page, json!({"results": all[28..], "offset": 28, "limit": 5, "total": 30}));
    assert_eq!(ids(json!({"filter": "n = 3", "limit": 3})), [3, 7, 11]);
    assert_eq!(ids(json!({"ids": ["7", "5", "ghost", "7"]})), [5, 7]);
    assert_eq!(ids(json!({"sort": ["n:desc", "m.k:asc"], "limit": 3})), [27, 23, 19]);
    assert_eq!(ids(json!({"sort": ["n:asc", "n:desc"], "offset": 7, "limit": 2})), [28, 1]);
    let fields = list(&snapshot, json!({"fields": ["m.k", "*"], "limit": 1})).unwrap();
    assert_eq!(fields["results"], json!([{"m": {"k": 0}}]));
    assert_eq!(list(&snapshot, json!({"fields": [], "limit": 1})).unwrap()["results"], json!([{}]));
    assert_eq!(list(&snapshot, json!({"sort": ["id:asc"]})).unwrap_err().code(), "invalid_document_sort");
    assert_eq!(list(&snapshot, json!({"filter": "m = 1"})).unwrap_err().code(), "invalid_document_filter");
}

#[test]
fn a_document_is_fetched_by_its_id() {
    let snapshot = snapshot_of(
        &[&[json!({"id": "a", "_vectors": {"m": [1]}, "x": {"y": 1, "z": 2}})]],
        Settings::default(),
    );
    let get = |id: &str, fields: Json, vectors: bool| {
        let request = json!({"id": id, "fields": fields, "retrieveVectors": vectors});
        document(&snapshot, request.to_string().as_bytes())
            .unwrap()
            .map(|body| String::from_utf8(body).unwrap())
    };
    assert_eq!(get("b", json!(null), false), None);
    assert_eq!(get("a", json!(null), false).unwrap(), r#"{"id":"a","x":{"y":1,"z":2}}"#);
    assert_eq!(get("a", json!(["x.z"]), false).unwrap(), r#"{"x":{"z":2}}"#);
    assert_eq!(get("a", json!([]), true).unwrap(), r#"{"_vectors":{"m":[1]}}"#);
}

#[test]
fn facet_values_are_searched_among_the_candidates() {
    let documents = [
        json!({"id": 1, "c": "Red", "t": "hat"}),
        json!({"id": 2, "c": "red", "t": "shoe"}),
        json!({"id": 3, "c": ["Blue car", "Rose"], "t": "hat"}),
    ];
    let snapshot = snapshot_of(&[&documents], settings(json!({"filterableAttributes": ["c"]})));
    let ask = |changes: Json| -> Result<Json> {
        let mut request = json!({
            "indexUid": "films", "facetName": "c", "facetQuery": null, "q": null, "filter": null,
            "matchingStrategy": "last", "attributesToSearchOn": null, "rankingScoreThreshold": null,
            "locales": null, "exhaustiveFacetCount": false, "hybrid": null, "vector": null,
            "features": {"containsFilter": false, "legacySearch": false}
        });
        for (key, value) in changes.as_object().unwrap() {
            request[key] = value.clone();
        }
        let answer = facet_search(&snapshot, request.to_string().as_bytes(), Instant::now(), &())?;
        let mut answer: Json = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer.as_object().unwrap().len(), 3);
        Ok(answer["facetHits"].take())
    };
    let hit = |value: &str, count: u32| json!({"value": value, "count": count});
    assert_eq!(ask(json!({})).unwrap(), json!([hit("Blue car", 1), hit("Red", 2), hit("Rose", 1)]));
    assert_eq!(ask(json!({"facetQuery": "R"})).unwrap(), json!([hit("Red", 2), hit("Rose", 1)]));
    assert_eq!(ask(json!({"facetQuery": "car"})).unwrap(), json!([]));
    assert_eq!(ask(json!({"facetQuery": "blue kar"})).unwrap(), json!([hit("Blue car", 1)]));
    assert_eq!(ask(json!({"facetQuery": "re", "q": "shoe"})).unwrap(), json!([hit("red", 1)]));
    assert_eq!(ask(json!({"filter": "c = rose"})).unwrap(), json!([hit("Blue car", 1), hit("Rose", 1)]));
    let error = ask(json!({"facetName": "t"})).unwrap_err();
    assert_eq!(error.code(), "invalid_facet_search_facet_name");
}

#[test]
fn a_multi_search_answers_in_order_and_fails_together() {
    let one = snapshot_of(&[&[json!({"id": 1, "t": "hat"})]], Settings::default());
    let two = snapshot_of(&[&[json!({"id": 2, "t": "hat"})]], Settings::default());
    let of = |index: &str, snapshot: &Snapshot, changes: Json| IndexedSearch {
        index: index.to_owned(),
        snapshot: snapshot.clone(),
        request: request(&changes).to_string().into_bytes(),
    };
    let now = SearchDeadline::from(Instant::now());
    let shoes = json!({"indexUid": "b", "q": "shoe"});
    let both = [of("one", &one, json!({"q": "hat"})), of("two", &two, shoes)];
    let answer: Json = serde_json::from_slice(&multi_search(&both, &now, &()).unwrap().body).unwrap();
    assert_eq!(answer["results"][0]["hits"], json!([{"id": 1, "t": "hat"}]));
    assert_eq!(answer["results"][1]["indexUid"], "b");
    assert_eq!(answer["results"][1]["hits"], json!([]));
    let failing = [of("one", &one, json!({})), of("two", &two, json!({"filter": "x = 1"}))];
    let error = multi_search(&failing, &now, &()).unwrap_err();
    assert_eq!(error.code(), "invalid_search_filter");
    assert!(error.to_string().contains("`.queries[1]`"), "{error}");
}

#[test]
fn federated_hits_are_ordered_by_score_even_if_scores_are_not_shown() {
    let late = snapshot_of(&[&[json!({"id": 9, "t": "the old hat"})]], Settings::default());
    let early = snapshot_of(
        &[&[json!({"id": 1, "t": "hat"}), json!({"id": 3, "t": "hat and coat"})]],
        Settings::default(),
    );
    let of = |index: &str, snapshot: &Snapshot| IndexedSearch {
        index: index.to_owned(),
        snapshot: snapshot.clone(),
        request: request(&json!({"indexUid": index, "q": "hat"})).to_string().into_bytes(),
    };
    let federation = json!({
        "paging": {"kind": "offset", "offset": 0, "limit": 20}, "facetsByIndex": {}, "mergeFacets": null,
        "distinct": null, "showPerformanceDetails": false, "requestUid": "0190-uid", "metadata": null,
        "weights": [1.0, 1.0], "positions": [0, 1], "origin": null, "showScoreValues": false
    });
    let searches = [of("late", &late), of("early", &early)];
    let now = SearchDeadline::from(Instant::now());
    let answer = federated_search(&searches, federation.to_string().as_bytes(), &now, &()).unwrap();
    let answer: Json = serde_json::from_slice(&answer.body).unwrap();
    let ids: Vec<&Json> = answer["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
    assert_eq!(ids, [1, 3, 9]);
}

#[test]
fn a_search_stops_after_its_client_disconnects() {
    let documents: Vec<Json> = (0..50).map(|id| json!({"id": id, "t": format!("hat {id}")})).collect();
    let snapshot = snapshot_of(&[&documents], Settings::default());
    let stop = Arc::new(AtomicBool::new(true));
    let stopped = SearchDeadline::new(Instant::now(), Some(stop));
    let asked = request(&json!({"q": "hat"})).to_string().into_bytes();
    assert!(run(&snapshot, &asked, stopped, &()).unwrap().facts.degraded);
    assert!(!run(&snapshot, &asked, Instant::now(), &()).unwrap().facts.degraded);
}
