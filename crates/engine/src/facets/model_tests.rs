//! Compares filters, sorting, facets and `distinct` with a model that reads complete documents, on one segment and on
//! several with replaced and deleted documents.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use roaring::RoaringBitmap;
use serde_json::{Value as Json, json};

use super::{Columns, SortValue};
use crate::analysis::normalize_facet;
use crate::filter::{self, Features, Scope};
use crate::settings::FacetOrder;
use crate::{Index, Limits};

const LIMITS: Limits =
    Limits { indexing_memory_bytes: 60_000_000, indexing_threads: 1, cache_bytes: 32 << 20 };

/// The values of a document at `v`, as filters compare them.
struct Leaves {
    numbers: Vec<f64>,
    strings: Vec<String>,
}

fn leaves(document: &Json) -> Leaves {
    let mut found = Leaves { numbers: Vec::new(), strings: Vec::new() };
    let values = match &document["v"] {
        Json::Array(values) => values.clone(),
        value => vec![value.clone()],
    };
    for value in values {
        match value {
            Json::Number(number) => found.numbers.extend(number.as_f64()),
            Json::Bool(truth) => found.strings.push(truth.to_string()),
            Json::String(text) => {
                found.strings.extend(Some(normalize_facet(&text)).filter(|it| !it.is_empty()))
            }
            _ => {}
        }
    }
    found
}

#[derive(Debug, Clone)]
struct Condition {
    operator: &'static str,
    operand: String,
}

impl Condition {
    fn text(&self) -> String {
        let operand = format!("'{}'", self.operand);
        match self.operator {
            "TO" => format!("v {operand} TO '5'"),
            "IN" => format!("v IN [{operand}, '2', 'b', 'long', 'ab', '7']"),
            "EXISTS" | "IS NULL" | "IS EMPTY" => format!("v {}", self.operator),
            operator => format!("v {operator} {operand}"),
        }
    }

    fn holds(&self, document: &Json) -> bool {
        let Leaves { numbers, strings } = leaves(document);
        let number = self.operand.parse::<f64>().ok().filter(|number| number.is_finite());
        let normalised = normalize_facet(&self.operand);
        let equal = |text: &str| {
            let number = text.parse::<f64>().ok();
            let normalised = normalize_facet(text);
            numbers.iter().any(|it| Some(*it) == number) || strings.contains(&normalised)
        };
        let compare = |wanted: &dyn Fn(Ordering) -> bool| {
            let of_number =
                |it: &f64| number.is_some_and(|number| it.partial_cmp(&number).is_some_and(wanted));
            numbers.iter().any(of_number) || strings.iter().any(|it| wanted(it.as_str().cmp(&normalised)))
        };
        match self.operator {
            "=" => equal(&self.operand),
            "!=" => !equal(&self.operand),
            ">" => compare(&|order| order == Ordering::Greater),
            ">=" => compare(&|order| order != Ordering::Less),
            "<" => compare(&|order| order == Ordering::Less),
            "<=" => compare(&|order| order != Ordering::Greater),
            "TO" => {
                numbers.iter().any(|it| number.is_some_and(|from| from <= *it && *it <= 5.0))
                    || strings.iter().any(|it| normalised.as_str() <= it.as_str() && it.as_str() <= "5")
            }
            "IN" => [self.operand.as_str(), "2", "b", "long", "ab", "7"].into_iter().any(equal),
            "STARTS WITH" => strings.iter().any(|it| it.starts_with(&normalised)),
            "CONTAINS" => strings.iter().any(|it| it.contains(&normalised)),
            "EXISTS" => document.get("v").is_some(),
            "IS NULL" => document.get("v") == Some(&Json::Null),
            _ => [json!(""), json!([]), json!({})].iter().any(|empty| document.get("v") == Some(empty)),
        }
    }
}

/// Sort key: kind, then value in the requested order.
fn sort_key(document: &Json, ascending: bool) -> SortValue {
    let Leaves { mut numbers, mut strings } = leaves(document);
    numbers.sort_by(f64::total_cmp);
    strings.sort();
    if !ascending {
        numbers.reverse();
        strings.reverse();
    }
    match (numbers.first(), strings.first()) {
        (Some(number), _) => SortValue::Number(*number),
        (None, Some(string)) => SortValue::String(string.clone()),
        (None, None) => SortValue::None,
    }
}

fn sort_order(a: &SortValue, b: &SortValue, ascending: bool) -> Ordering {
    let kind = |value: &SortValue| match value {
        SortValue::Number(_) => 0,
        SortValue::String(_) => 1,
        SortValue::None => 2,
    };
    let order = match (a, b) {
        (SortValue::Number(a), SortValue::Number(b)) => a.total_cmp(b),
        (SortValue::String(a), SortValue::String(b)) => a.cmp(b),
        _ => return kind(a).cmp(&kind(b)),
    };
    if ascending { order } else { order.reverse() }
}

fn values_of(document: &Json) -> BTreeSet<String> {
    let Leaves { numbers, strings } = leaves(document);
    // Minus zero and zero are the same value.
    let numbers = numbers.iter().map(|number| format!("n{}", number + 0.0));
    numbers.chain(strings.iter().map(|string| format!("s{string}"))).collect()
}

/// Puts and deletions by batch.
type Batches = Vec<Vec<(u8, Option<Json>)>>;

fn build(directory: &std::path::Path, batches: &Batches) -> Index {
    let index = Index::open(&directory.join("index"), LIMITS).unwrap();
    let filterable = json!({ "filterableAttributes": ["v"] }).to_string();
    let settings = json!({ "kind": "settings", "taskUid": 0, "settings": filterable });
    let mut operations = vec![settings];
    for (number, batch) in batches.iter().enumerate() {
        for (id, value) in batch {
            operations.push(match value {
                Some(Json::Object(rest)) => {
                    let mut document = rest.clone();
                    document.insert("id".to_owned(), json!(id));
                    let path = directory.join(format!("{number}-{}", operations.len()));
                    std::fs::write(&path, json!([document]).to_string()).unwrap();
                    json!({ "kind": "documents", "taskUid": 0, "method": "replace", "primaryKey": "id",
                            "skipCreation": false, "payload": { "path": path, "format": "json" } })
                }
                _ => json!({ "kind": "deleteByIds", "taskUid": 0, "ids": [id.to_string()] }),
            });
        }
        let batch = json!({ "uid": number + 1, "indexUid": "things", "operations": operations });
        index.commit(index.prepare(batch.to_string().as_bytes(), None).unwrap()).unwrap();
        operations.clear();
    }
    index
}

fn any_leaf() -> impl Strategy<Value = Json> {
    prop_oneof![
        (-3..9i32).prop_map(|number| json!(number)),
        Just(json!(-0.0)),
        Just(json!(2.5)),
        "[abAé]{0,2}".prop_map(Json::String),
        Just(json!(" Ab ")),
        Just(json!("7")),
        Just(json!("long ".repeat(70))),
        any::<bool>().prop_map(Json::Bool),
        Just(Json::Null),
    ]
}

fn any_document() -> impl Strategy<Value = Json> {
    prop_oneof![
        6 => any_leaf().prop_map(|value| json!({ "v": value })),
        3 => prop::collection::vec(any_leaf(), 0..4).prop_map(|values| json!({ "v": values })),
        1 => Just(json!({})),
        1 => Just(json!({ "v": {} })),
    ]
}

fn any_batches() -> impl Strategy<Value = Batches> {
    let change = (0..24u8, prop::option::weighted(0.8, any_document()));
    prop::collection::vec(prop::collection::vec(change, 1..12), 1..11)
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let operators = [
        "=",
        "!=",
        ">",
        ">=",
        "<",
        "<=",
        "TO",
        "IN",
        "STARTS WITH",
        "CONTAINS",
        "EXISTS",
        "IS NULL",
        "IS EMPTY",
    ];
    let operands = ["2", "-1", "0", "-0", "2.5", "7", "a", "B", "ab", "é", "long", "true", "1e400"];
    (prop::sample::select(operators.to_vec()), prop::sample::select(operands.to_vec()))
        .prop_map(|(operator, operand)| Condition { operator, operand: operand.to_owned() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn columns_agree_with_a_model_of_the_documents(
        batches in any_batches(),
        conditions in prop::collection::vec(any_condition(), 12),
        few in prop::collection::vec(0..24u32, 0..6),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let index = build(directory.path(), &batches);
        let snapshot = index.snapshot().unwrap();
        let document = |docid: u32| Json::Object(snapshot.document(docid).unwrap().unwrap());
        let documents: BTreeMap<u32, Json> =
            snapshot.documents().iter().map(|docid| (docid, document(docid))).collect();
        let features = Features { contains_filter: true, ..Features::default() };
        let scope = Scope { code: "invalid_search_filter", index_uid: None, features, stop: None, until: None, foreign: None };
        // No condition holds for a field that no document has.
        if snapshot.fields().id("v").is_some() {
            for condition in &conditions {
                let expression = filter::parse(&json!(condition.text()), &scope).unwrap().unwrap();
                let found: Vec<u32> = filter::select(&snapshot, &expression, &scope).unwrap().iter().collect();
                let expected: Vec<u32> =
                    documents.iter().filter(|(_, it)| condition.holds(it)).map(|(docid, _)| *docid).collect();
                prop_assert_eq!(found, expected, "{}", condition.text());
            }
        }

        let columns = Columns::new(&snapshot);
        let some: RoaringBitmap = few.iter().copied().filter(|docid| documents.contains_key(docid)).collect();
        for universe in [snapshot.documents(), &some] {
            for ascending in [true, false] {
                let mut found = Vec::new();
                for bucket in columns.sort_buckets("v", ascending, universe).unwrap() {
                    let (value, docs) = bucket.unwrap();
                    found.extend(docs.iter().map(|docid| (value.clone(), docid)));
                }
                let mut expected: Vec<(SortValue, u32)> =
                    universe.iter().map(|docid| (sort_key(&documents[&docid], ascending), docid)).collect();
                expected.sort_by(|a, b| sort_order(&a.0, &b.0, ascending).then(a.1.cmp(&b.1)));
                prop_assert_eq!(&found, &expected);
            }

            let mut taken = BTreeSet::new();
            let mut expected = Vec::new();
            for docid in universe {
                let values = values_of(&documents[&docid]);
                if values.is_disjoint(&taken) {
                    expected.push(docid);
                    taken.extend(values);
                }
            }
            let (kept, excluded) = columns.distinct("v").unwrap().keep(universe, universe, usize::MAX).unwrap();
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), expected);
            prop_assert_eq!(excluded, universe - &kept);

            let (kept, excluded) = columns.distinct("v").unwrap().keep(&some, universe, usize::MAX).unwrap();
            let taken: BTreeSet<_> = kept.iter().flat_map(|docid| values_of(&documents[&docid])).collect();
            let shares = |docid: &u32| !values_of(&documents[docid]).is_disjoint(&taken);
            prop_assert_eq!(excluded, universe.iter().filter(shares).collect::<RoaringBitmap>() - kept);

            for order in [FacetOrder::Alpha, FacetOrder::Count] {
                let mut expected: BTreeMap<String, u64> = BTreeMap::new();
                for docid in universe {
                    let strings: BTreeSet<String> = leaves(&documents[&docid]).strings.into_iter().collect();
                    for string in strings.into_iter().filter(|string| string != "7") {
                        *expected.entry(string).or_default() += 1;
                    }
                }
                let listed = columns.distribution("v", universe, order, 1000).unwrap().values;
                let found: BTreeMap<String, u64> = listed
                    .into_iter()
                    .filter(|(value, _)| value.parse::<f64>().is_err())
                    .map(|(value, count)| (normalize_facet(&value), count))
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
