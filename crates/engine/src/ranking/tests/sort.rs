//! 1. Numbers come before strings, and strings before no value, in both directions; a list sorts by its best value.
//! 2. The settings place the rule `sort`; without it nothing is sorted.
//! 3. Custom rules sort too, and add nothing to the score.
//! 4. Distance sorts in buckets of one metre, documents without a point last.
//! 5. Sorting again by the same field has no effect.

use serde_json::json;

use super::corpus::{Ask, Corpus, ask};
use crate::facets::GeoPoint;
use crate::ranking::SortCriterion;

fn field(path: &str, ascending: bool) -> SortCriterion {
    SortCriterion::Field { path: path.to_owned(), ascending }
}

fn sorted(q: &str, path: &str, ascending: bool) -> Ask<'static> {
    Ask { q: if q.is_empty() { "" } else { "lamp" }, sort: vec![field(path, ascending)], ..Ask::default() }
}

#[test]
fn values_of_all_kinds_have_an_order() {
    let documents = [
        (1, json!({"p": 10})),
        (2, json!({"p": "9"})),
        (3, json!({"p": "Zed"})),
        (4, json!({"q": 1})),
        (5, json!({"p": [3, 20]})),
        (6, json!({"p": null})),
        (7, json!({"p": true})),
        (8, json!({"p": "abc"})),
        (9, json!({"p": -1.5})),
    ];
    let corpus = Corpus::new(json!({}), &documents);
    corpus.expect_ids(&sorted("", "p", true), &[9, 5, 1, 2, 8, 7, 3, 4, 6]);
    corpus.expect_ids(&sorted("", "p", false), &[5, 1, 9, 3, 7, 8, 2, 4, 6]);
    let unsorted = Corpus::new(json!({"rankingRules": ["words"]}), &documents);
    unsorted.expect_ids(&sorted("", "p", true), &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

fn lamps() -> [(u32, serde_json::Value); 4] {
    [
        (1, json!({"t": "lamp", "p": 30})),
        (2, json!({"t": "lamps", "p": 5})),
        (3, json!({"t": "lamp", "p": 12})),
        (4, json!({"t": "lamp"})),
    ]
}

#[test]
fn a_custom_rule_sorts_and_scores_nothing() {
    let settings =
        json!({"searchableAttributes": ["t"], "rankingRules": ["words", "p:asc", "typo", "exactness"]});
    let corpus = Corpus::new(settings, &lamps());
    corpus.expect("lamp", &[(2, 0.583333), (3, 1.0), (1, 1.0), (4, 1.0)]);
}

#[test]
fn sort_comes_before_exactness_by_default() {
    let corpus = Corpus::new(json!({"searchableAttributes": ["t"]}), &lamps());
    corpus.expect_ids(&sorted("lamp", "p", false), &[1, 3, 2, 4]);
}

#[test]
fn the_first_direction_wins() {
    let settings = json!({"rankingRules": ["p:asc", "sort", "p:desc"]});
    let corpus = Corpus::new(settings, &lamps());
    corpus.expect_ids(&sorted("", "p", false), &[2, 3, 1, 4]);
}

#[test]
fn distance_sorts_in_buckets_of_a_metre() {
    let at = |lat: f64, lng: f64| json!({"_geo": {"lat": lat, "lng": lng}});
    let documents = [
        (1, at(45.75, 4.85)),
        (2, at(45.77, 4.83)),
        (3, at(43.3, 5.37)),
        (4, at(45.76, 4.84)),
        (5, json!({"t": "nowhere"})),
    ];
    let corpus = Corpus::new(json!({}), &documents);
    let from_lyon = |ascending| {
        let origin = GeoPoint { lat: 45.76, lng: 4.84 };
        Ask { sort: vec![SortCriterion::Geo { origin, ascending }], ..ask("") }
    };
    corpus.expect_ids(&from_lyon(true), &[4, 1, 2, 3, 5]);
    corpus.expect_ids(&from_lyon(false), &[3, 1, 2, 4, 5]);
}
