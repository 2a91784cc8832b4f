//! 1. Each rule is rendered under its own name, in order, with its score.
//! 2. The two halves of `attribute` and of exactness are rendered as one.
//! 3. The values of fields that are not displayed are hidden.
//! 4. Ranks beyond 32 bits are merged exactly.

use serde_json::{Value, json};

use super::corpus::{Ask, Corpus, ask};
use crate::ranking::{Rank, ScoreDetail, SortCriterion};

fn rendered(corpus: &Corpus, ask: &Ask, docid: u32, displayed: fn(&str) -> bool) -> Value {
    let answer = corpus.answer(ask);
    let hit = answer.hits.iter().find(|hit| hit.docid == docid).unwrap();
    Value::Object(ScoreDetail::render(&hit.scores, displayed))
}

#[test]
fn each_rule_is_rendered() {
    let corpus = Corpus::of_texts(json!({}), &["amber bowl with stone", "ambr stones"]);
    let shown = rendered(&corpus, &ask("amber stone"), 1, |_| true);
    let expected = json!({
        "words": {"order": 0, "matchingWords": 2, "maxMatchingWords": 2, "score": 1.0},
        "typo": {"order": 1, "typoCount": 0, "maxTypoCount": 2, "score": 1.0},
        "proximity": {"order": 2, "score": 0.5},
        "attributeRank": {"order": 3, "score": 1.0},
        "wordPosition": {"order": 4, "score": 0.9047619047619048},
        "exactness": {
            "order": 5, "matchType": "noExactMatch", "matchingWords": 2, "maxMatchingWords": 2,
            "score": 0.3333333333333333,
        },
    });
    assert_eq!(shown.to_string(), expected.to_string());
}

#[test]
fn a_sorted_field_shows_its_value() {
    let documents = [(1, json!({"t": "lamp", "p": 12})), (2, json!({"t": "lamp"}))];
    let corpus = Corpus::new(json!({"searchableAttributes": ["t"]}), &documents);
    let sort = vec![SortCriterion::Field { path: "p".to_owned(), ascending: false }];
    let ask = Ask { sort, ..ask("lamp") };
    let shown = rendered(&corpus, &ask, 1, |_| true);
    assert_eq!(shown["p:desc"], json!({"order": 4, "value": 12.0}));
    assert_eq!(shown["attributeRank"]["order"], 3);
    assert_eq!(shown["wordPosition"]["order"], 5);
    assert_eq!(rendered(&corpus, &ask, 2, |_| true)["p:desc"], json!({"order": 4, "value": null}));
    let hidden = rendered(&corpus, &ask, 1, |field| field != "p");
    assert_eq!(hidden["<hidden-rule-4>"], json!({"order": 4, "value": "<hidden>"}));
    assert!(hidden.get("p:desc").is_none());
}

#[test]
fn the_unified_attribute_rule_is_rendered_as_one() {
    let documents = [(1, json!({"title": "lamp"})), (2, json!({"body": "a lamp"}))];
    let settings = json!({"searchableAttributes": ["title", "body"], "rankingRules": ["words", "attribute", "exactness"]});
    let corpus = Corpus::new(settings, &documents);
    let shown = rendered(&corpus, &ask("lamp"), 1, |_| true);
    let attribute =
        json!({"order": 1, "attributeRankingOrderScore": 1.0, "queryWordDistanceScore": 1.0, "score": 1.0});
    assert_eq!(shown["attribute"], attribute);
    assert_eq!(shown["exactness"], json!({"order": 2, "matchType": "exactMatch", "score": 1.0}));
    let worse = rendered(&corpus, &ask("lamp"), 2, |_| true);
    assert_eq!(worse["attribute"]["attributeRankingOrderScore"], 0.5);
    assert_eq!(worse["attribute"]["score"], 10.0 / 22.0);
}

#[test]
fn ranks_are_merged_exactly() {
    let best = Rank { rank: 100_001, max: 100_001 };
    assert_eq!(Rank::merged([best; 7]), 1.0);
    let second = Rank { rank: 100_000, max: 100_001 };
    assert!(Rank::merged([best, best, second]) < 1.0);
    assert_eq!(Rank::merged([]), 1.0);
    assert_eq!(Rank::merged([Rank { rank: 0, max: 1 }]), 0.0);
}
