//! 1. Numbers and strings are selected, sorted and counted in the same way on one segment, on several, and with deleted
//!    documents.
//! 2. Spellings of a value count as one value; the spelling of the first document is displayed.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;
use roaring::RoaringBitmap;
use serde_json::{Value as Json, json};

use super::*;
use crate::analysis::normalize_facet_search;
use crate::fixture::snapshot_of;
use crate::settings::{FacetOrder, Settings};

fn columns(segments: &[&[Json]]) -> Columns {
    Columns::new(&snapshot_of(segments, Settings::default()))
}

fn ids(bitmap: RoaringBitmap) -> Vec<u32> {
    bitmap.iter().collect()
}

fn all(columns: &Columns) -> RoaringBitmap {
    columns.snapshot.documents().clone()
}

/// Docids count from 0 in document order.
fn mixed() -> Vec<Json> {
    vec![
        json!({"v": 10}),
        json!({"v": "9"}),
        json!({"v": "Zed"}),
        json!({}),
        json!({"v": [3, 20]}),
        json!({"v": null}),
        json!({"v": true}),
        json!({"v": "abc"}),
        json!({"v": -1.5}),
        json!({"v": " ÁBC "}),
    ]
}

#[test]
fn values_are_selected_by_kind_and_range() {
    let columns = columns(&[&mixed()]);
    let (incl, excl) = (Bound::Included, Bound::Excluded);
    let open = Bound::Unbounded;
    assert_eq!(ids(columns.equal("v", "10").unwrap()), [0]);
    assert_eq!(ids(columns.equal("v", "9").unwrap()), [1]);
    assert_eq!(ids(columns.equal("v", " zED").unwrap()), [2]);
    assert_eq!(ids(columns.equal("v", "TRUE").unwrap()), [6]);
    assert_eq!(ids(columns.equal("v", "ábc").unwrap()), [9]);
    assert_eq!(ids(columns.between("v", excl("9"), open).unwrap()), [0, 2, 4, 6, 7, 9]);
    assert_eq!(ids(columns.between("v", incl("9"), open).unwrap()), [0, 1, 2, 4, 6, 7, 9]);
    assert_eq!(ids(columns.between("v", open, excl("3")).unwrap()), [8]);
    assert_eq!(ids(columns.between("v", open, incl("3")).unwrap()), [4, 8]);
    assert_eq!(ids(columns.between("v", incl("a"), incl("b")).unwrap()), [7, 9]);
    assert_eq!(ids(columns.between("v", incl("20"), incl("10")).unwrap()), [0u32; 0]);
    assert_eq!(ids(columns.contains("v", "B").unwrap()), [7, 9]);
    assert_eq!(ids(columns.starts_with("v", "Ab").unwrap()), [7]);
    assert_eq!(ids(columns.exists("v").unwrap()), [0, 1, 2, 4, 5, 6, 7, 8, 9]);
    assert_eq!(ids(columns.null("v").unwrap()), [5]);
    assert_eq!(ids(columns.equal("ghost", "1").unwrap()), [0u32; 0]);
}

fn sorted(columns: &Columns, ascending: bool) -> Vec<u32> {
    let buckets = columns.sort_buckets("v", ascending, &all(columns)).unwrap();
    buckets.flat_map(|bucket| ids(bucket.unwrap().1)).collect()
}

#[test]
fn numbers_come_before_strings_in_both_directions() {
    for segments in [vec![mixed()], mixed().into_iter().map(|document| vec![document]).collect()] {
        let segments: Vec<&[Json]> = segments.iter().map(Vec::as_slice).collect();
        let columns = columns(&segments);
        assert_eq!(sorted(&columns, true), [8, 4, 0, 1, 7, 9, 6, 2, 3, 5]);
        assert_eq!(sorted(&columns, false), [4, 0, 8, 2, 6, 9, 7, 1, 3, 5]);
    }
}

#[test]
fn a_bucket_has_the_common_value_of_its_documents() {
    let columns = columns(&[&[json!({"v": "Red"}), json!({"v": 2}), json!({"v": " red"}), json!({})]]);
    let buckets: Vec<_> =
        columns.sort_buckets("v", true, &all(&columns)).unwrap().map(|bucket| bucket.unwrap().0).collect();
    assert_eq!(buckets, [SortValue::Number(2.0), SortValue::String("red".into()), SortValue::None]);
}

fn counted(columns: &Columns, path: &str, order: FacetOrder, max: usize) -> Vec<(String, u64)> {
    columns.distribution(path, &all(columns), order, max).unwrap().values
}

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(value, count)| ((*value).to_owned(), *count)).collect()
}

fn colours() -> Vec<Json> {
    vec![
        json!({"c": "Red", "size": 10}),
        json!({"c": " red", "size": 2}),
        json!({"c": ["BLUE", "red"], "size": "10"}),
        json!({"c": 7, "size": null}),
        json!({"c": "7", "size": 2.5}),
        json!({"c": true}),
        json!({"c": []}),
        json!({"c": 7}),
    ]
}

#[test]
fn facets_have_at_most_as_many_values_as_asked_for() {
    // Enough values for groups.
    let documents: Vec<Json> = (0..30).map(|at| json!({"c": format!("v{at:02}"), "n": at})).collect();
    let columns = columns(&[&documents]);
    for order in [FacetOrder::Alpha, FacetOrder::Count] {
        for (path, max) in [("c", 0), ("n", 0), ("c", 1), ("n", 1), ("c", 29), ("n", 100)] {
            assert_eq!(counted(&columns, path, order, max).len(), max.min(30), "{path} {max}");
        }
    }
}

#[test]
fn facets_count_documents_under_the_first_spelling() {
    for cut in 0..8 {
        let documents = colours();
        let (one, two) = documents.split_at(cut);
        let segments: Vec<&[Json]> = [one, two].into_iter().filter(|part| !part.is_empty()).collect();
        let columns = columns(&segments);
        let alpha = FacetOrder::Alpha;
        assert_eq!(
            counted(&columns, "c", alpha, 100),
            pairs(&[("7", 1), ("BLUE", 1), ("Red", 3), ("true", 1)])
        );
        assert_eq!(counted(&columns, "size", alpha, 100), pairs(&[("10", 1), ("2", 1), ("2.5", 1)]));
        assert_eq!(counted(&columns, "c", alpha, 2), pairs(&[("7", 1), ("BLUE", 1)]));
        let count = FacetOrder::Count;
        assert_eq!(
            counted(&columns, "c", count, 100),
            pairs(&[("7", 1), ("Red", 3), ("true", 1), ("BLUE", 1)])
        );
        let some = RoaringBitmap::from([2]);
        let third = columns.distribution("c", &some, alpha, 100).unwrap();
        assert_eq!(third.values, pairs(&[("BLUE", 1), ("red", 1)]));
        let stats = columns.distribution("size", &all(&columns), alpha, 1).unwrap().stats;
        assert_eq!(stats, Some(Stats { min: 2.0, max: 10.0 }));
    }
}

#[test]
fn numbers_print_as_plain_decimals() {
    let columns = columns(&[&[json!({"n": [1e21, 1e-7, -2.50, 3.0]})]]);
    let expected = pairs(&[("-2.5", 1), ("0.0000001", 1), ("1000000000000000000000", 1), ("3", 1)]);
    assert_eq!(counted(&columns, "n", FacetOrder::Alpha, 9), expected);
}

#[test]
fn a_frequent_value_alone_in_its_group_comes_after_equally_frequent_ones() {
    let documents: Vec<Json> = (0..60).map(|n| json!({"v": format!("v{n:03}")})).collect();
    let columns = columns(&[&documents]);
    let candidates = RoaringBitmap::from([0, 1, 4, 8, 9]);
    let found = columns.distribution("v", &candidates, FacetOrder::Count, 100).unwrap().values;
    let values: Vec<&str> = found.iter().map(|(value, _)| value.as_str()).collect();
    assert_eq!(values, ["v009", "v008", "v001", "v000", "v004"]);
}

#[test]
fn facet_search_ignores_accents_and_allows_typos() {
    let columns = columns(&[&colours(), &[json!({"c": "Photography"}), json!({"c": "Été"})]]);
    let search = |text: &str, typos: u8, prefix: bool| -> Vec<(String, u64)> {
        let text = normalize_facet_search(text, None);
        let query = FacetQuery { text, typos, prefix, locales: None };
        let hits = columns.facet_search("c", &query, &all(&columns), FacetOrder::Alpha, 100).unwrap();
        hits.into_iter().map(|hit| (hit.value, hit.count)).collect()
    };
    assert_eq!(search("re", 0, true), pairs(&[("Red", 3)]));
    assert_eq!(search("blü", 0, true), pairs(&[("BLUE", 1)]));
    assert_eq!(search("7", 0, true), pairs(&[("7", 1)]));
    assert_eq!(search("photografy", 2, true), pairs(&[("Photography", 1)]));
    assert_eq!(search("hotography", 2, true), pairs(&[("Photography", 1)]));
    assert_eq!(search("photo", 0, false), pairs(&[]));
    assert_eq!(search("ete", 0, true), pairs(&[("Été", 1)]));
    let expected = pairs(&[("7", 1), ("BLUE", 1), ("Été", 1), ("Photography", 1), ("Red", 3), ("true", 1)]);
    assert_eq!(search("", 0, true), expected);
}

#[test]
fn geo_orders_and_selects_by_distance() {
    let at = |lat: f64, lng: f64| json!({"_geo": {"lat": lat, "lng": lng}});
    let documents = [
        at(45.75, 4.85),
        at(45.77, 4.83),
        at(43.3, 5.37),
        json!({"_geo": {"lat": "45.76", "lng": 4.84}}),
        json!({}),
    ];
    let columns = columns(&[&documents[..3], &documents[3..]]);
    let here = GeoPoint { lat: 45.76, lng: 4.84 };
    let order = |ascending: bool| -> Vec<Vec<u32>> {
        let buckets = columns.geo_buckets(here, ascending, &all(&columns)).unwrap();
        buckets.map(|bucket| ids(bucket.documents)).collect()
    };
    assert_eq!(order(true), [vec![3], vec![0, 1], vec![2], vec![4]]);
    assert_eq!(order(false), [vec![2], vec![0, 1], vec![3], vec![4]]);
    let nearest = columns.geo_buckets(here, true, &all(&columns)).unwrap().nth(1).unwrap();
    assert_eq!(nearest.reference.map(|(_, metres)| (metres * 100.0).round() / 100.0), Some(1355.86));
    assert_eq!(ids(columns.within_radius(here, 1355.8).unwrap()), [1, 3]);
    let (top_right, bottom_left) = (GeoPoint { lat: 46.0, lng: 4.84 }, GeoPoint { lat: 45.76, lng: 4.0 });
    assert_eq!(ids(columns.within_box(top_right, bottom_left).unwrap()), [1, 3]);
    let around = GeoPoint { lat: 45.76, lng: 4.84 };
    let (east, west) = (GeoPoint { lat: 90.0, lng: 4.835 }, GeoPoint { lat: -90.0, lng: 4.845 });
    assert_eq!(ids(columns.within_box(east, west).unwrap()), [0, 1, 2]);
    assert_eq!(distance(around, around), 0.0);
}

#[test]
fn a_page_of_first_documents_is_the_start_of_the_complete_order() {
    let value = |n: u32| {
        let text = ["a", "A", "b", "c"][n as usize % 4];
        match n.is_multiple_of(5) {
            true => json!({"n": [0, 3], "s": "b", "several": ["b", "c"]}),
            false => json!({"n": n % 5, "s": text, "several": "c"}),
        }
    };
    let documents: Vec<Json> = (0..6_000).map(value).collect();
    let columns = columns(&[&documents[..2_800], &documents[2_800..]]);
    let some: RoaringBitmap = all(&columns).iter().filter(|docid| docid % 3 > 0).collect();
    for (path, read_max) in [("n", 2), ("s", 4), ("several", 1_000)] {
        for (universe, ascending, page) in
            [(&all(&columns), true, 5), (&some, true, 20), (&some, false, 4_100), (&some, false, 9_000)]
        {
            let buckets = || columns.sort_buckets(path, ascending, universe).unwrap();
            let complete: Vec<u32> = buckets().flat_map(|bucket| bucket.unwrap().1).collect();
            let (mut buckets, mut first) = (buckets(), Vec::new());
            while first.len() < page
                && let Some((_, docs)) = buckets.first_of_bucket(page - first.len()).unwrap()
            {
                first.extend(docs);
            }
            assert!(first.len() <= read_max * page, "{path}, {page}: {} documents were read", first.len());
            first.truncate(page);
            assert_eq!(first, complete[..page.min(complete.len())], "{path}, {page}");
        }
    }
}

#[test]
fn one_document_per_value_is_kept() {
    let columns = columns(&[
        &[json!({"s": "A"}), json!({"s": ["b", 1]}), json!({}), json!({"s": "B"})],
        &[json!({"s": "a"}), json!({"s": 1.0}), json!({"s": [-0.0, "c"]}), json!({"s": 0})],
    ]);
    let universe = all(&columns);
    let kept = |docs: &[&[u32]]| -> Vec<(Vec<u32>, Vec<u32>)> {
        let mut distinct = columns.distinct("s").unwrap();
        let keep = |docs: &&[u32]| {
            let docs: RoaringBitmap = docs.iter().copied().collect();
            let (kept, excluded) = distinct.keep(&docs, &universe, usize::MAX).unwrap();
            (ids(kept), ids(excluded))
        };
        docs.iter().map(keep).collect()
    };
    assert_eq!(kept(&[&[0, 1, 2, 3, 4, 5, 6, 7]]), [(vec![0, 1, 2, 6], vec![3, 4, 5, 7])]);
    assert_eq!(kept(&[&[4], &[0, 5], &[7]]), [(vec![4], vec![0]), (vec![5], vec![1]), (vec![7], vec![6])]);
    let (first, _) = columns.distinct("s").unwrap().keep(&universe, &universe, 2).unwrap();
    assert_eq!(ids(first), [0, 1]);
}

fn any_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        (-3..4i32).prop_map(|n| json!(n)),
        "[abAB]{1,2}".prop_map(Json::String),
        any::<bool>().prop_map(Json::Bool)
    ];
    prop_oneof![leaf.clone(), prop::collection::vec(leaf, 0..4).prop_map(Json::Array)]
}

/// Counts facet values document by document.
fn count_slowly(documents: &[Json]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for document in documents {
        let leaves = document["v"].as_array().cloned().unwrap_or_else(|| vec![document["v"].clone()]);
        let mut values: Vec<String> = leaves
            .iter()
            .map(|leaf| leaf.as_str().map_or_else(|| leaf.to_string(), |text| text.to_lowercase()))
            .collect();
        values.sort();
        values.dedup();
        for value in values {
            *counts.entry(value).or_default() += 1;
        }
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn counts_do_not_depend_on_segments(
        values in prop::collection::vec(any_value(), 1..40),
        cuts in prop::collection::vec(0..40usize, 0..3),
    ) {
        let documents: Vec<Json> = values.into_iter().map(|value| json!({"v": value})).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(documents.len())).collect();
        cuts.push(0);
        cuts.push(documents.len());
        cuts.sort_unstable();
        let parts: Vec<&[Json]> =
            cuts.windows(2).map(|cut| &documents[cut[0]..cut[1]]).filter(|part| !part.is_empty()).collect();
        let columns = columns(&parts);
        for order in [FacetOrder::Alpha, FacetOrder::Count] {
            let counts: BTreeMap<String, u64> = counted(&columns, "v", order, 1000)
                .into_iter()
                .map(|(value, count)| (value.to_lowercase(), count))
                .collect();
            prop_assert_eq!(counts, count_slowly(&documents));
        }
    }
}
