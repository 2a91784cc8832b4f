//! Scores of a document: for each rule, and overall.

use serde_json::{Map, Value, json};

use crate::facets::{GeoPoint, SortValue};

/// A rank out of `max`, the greater the better: between 1 (0 if the rule was skipped) and `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// The rank.
    pub rank: u32,
    /// The best possible rank.
    pub max: u32,
}

impl Rank {
    /// `rank / max`, or 1 if all documents are equally good.
    pub fn score(self) -> f64 {
        Rank::merged([self])
    }

    /// Reads the ranks of several rules as one number: each rule only decides between documents that earlier rules left
    /// equal.
    ///
    /// Exact until the single division at the end, so that every engine prints the same digits.
    /// Source: search §8.
    pub fn merged(ranks: impl IntoIterator<Item = Self>) -> f64 {
        let mut total: (u128, u128) = (1, 1);
        for Rank { rank, max } in ranks {
            let (rank, max) = (u128::from(rank), u128::from(max));
            total = (
                total.0.saturating_sub(1).saturating_mul(max).saturating_add(rank),
                total.1.saturating_mul(max),
            );
        }
        if total.1 == 0 { 0.0 } else { total.0 as f64 / total.1 as f64 }
    }
}

/// The result of one rule for the documents of one bucket.
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreDetail {
    /// Query words that were found.
    Words {
        /// Number of words found.
        matching: u32,
        /// Number of words in the query.
        max: u32,
    },
    /// Typos in the matched words.
    Typo {
        /// Number of typos.
        count: u32,
        /// Largest possible number of typos.
        max: u32,
    },
    /// Proximity of the words.
    Proximity(Rank),
    /// Importance of the matched attributes.
    AttributeRank {
        /// The rank.
        rank: Rank,
        /// True if it is the first half of the rule `attribute`.
        unified: bool,
    },
    /// Distance of the words from their positions in the query.
    WordPosition {
        /// The rank.
        rank: Rank,
        /// True if it is the second half of the rule `attribute`.
        unified: bool,
    },
    /// Rarity and frequency of the query words found.
    Relevance(Rank),
    /// Tells how an attribute matches the complete query.
    ExactAttribute(MatchType),
    /// Words that occur exactly as in the query.
    ExactWords {
        /// Number of exact words.
        matching: u32,
        /// Number of words in the query.
        max: u32,
    },
    /// Value of the field that documents were sorted by.
    Sort {
        /// Dotted path.
        field: String,
        /// Smallest first.
        ascending: bool,
        /// Best value of the document.
        value: SortValue,
    },
    /// Distance that documents were sorted by.
    Geo {
        /// Point to measure distances from.
        origin: GeoPoint,
        /// Nearest first.
        ascending: bool,
        /// A point of the bucket and its distance in metres.
        nearest: Option<(GeoPoint, f64)>,
    },
    /// Similarity of vectors.
    Vector {
        /// Between 0 and 1. None: the document has no vector.
        similarity: Option<f32>,
    },
    /// Time ran out before this rule.
    Skipped,
    /// Dynamic search rules multiply the score. Always the first detail.
    Scale {
        /// The actions that select the document.
        actions: Vec<ScaledBy>,
        /// The product of their weights.
        total_weight: f64,
    },
    /// No rule: the document is pinned to a position.
    Pin {
        /// Counted from 0.
        position: u32,
    },
}

/// An action of a dynamic search rule that multiplies a score.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledBy {
    /// Uid of the rule.
    pub rule_uid: String,
    /// The factor.
    pub weight: f64,
}

/// How an attribute matches the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchType {
    /// It equals the query.
    Exact,
    /// It begins with the query.
    Start,
    /// Neither.
    None,
}

impl MatchType {
    fn rank(self) -> Rank {
        let rank = match self {
            Self::Exact => 3,
            Self::Start => 2,
            Self::None => 1,
        };
        Rank { rank, max: 3 }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Exact => "exactMatch",
            Self::Start => "matchesStart",
            Self::None => "noExactMatch",
        }
    }
}

impl ScoreDetail {
    /// The contribution of the rule to the score. Sorting contributes nothing.
    pub fn rank(&self) -> Option<Rank> {
        Some(match *self {
            Self::Words { matching, max } => Rank { rank: matching, max },
            Self::Typo { count, max } => Rank { rank: (max + 1).saturating_sub(count), max: max + 1 },
            Self::Proximity(rank)
            | Self::Relevance(rank)
            | Self::AttributeRank { rank, .. }
            | Self::WordPosition { rank, .. } => rank,
            Self::ExactAttribute(found) => found.rank(),
            Self::ExactWords { matching, max } => Rank { rank: matching + 1, max: max + 1 },
            Self::Skipped => Rank { rank: 0, max: 1 },
            Self::Sort { .. }
            | Self::Geo { .. }
            | Self::Vector { .. }
            | Self::Scale { .. }
            | Self::Pin { .. } => return None,
        })
    }

    /// Returns the score of a document between 0 and 1: the similarity where vectors were compared, otherwise the ranks
    /// of all rules read as one number.
    pub fn global_score<'d>(details: impl IntoIterator<Item = &'d Self> + Clone) -> f64 {
        let vector = details.clone().into_iter().find_map(|detail| match detail {
            Self::Vector { similarity } => Some(similarity.map_or(0.0, f64::from)),
            _ => None,
        });
        vector.unwrap_or_else(|| Rank::merged(details.into_iter().filter_map(Self::rank)))
    }

    /// Returns the weight that dynamic search rules give to a document; 1 without any.
    pub fn scale(details: &[Self]) -> f64 {
        match details.first() {
            Some(Self::Scale { total_weight, .. }) => *total_weight,
            _ => 1.0,
        }
    }

    /// Renders `_rankingScoreDetails`: the result of each rule by rule name. Values of fields are hidden unless
    /// `displayed`.
    pub fn render(details: &[Self], displayed: impl Fn(&str) -> bool) -> Map<String, Value> {
        let mut shown = Map::new();
        let mut order = 0;
        let mut before: Option<&Self> = None;
        for detail in details {
            let (key, value) = match detail {
                Self::Words { matching, max } => (
                    "words".to_owned(),
                    json!({"order": order, "matchingWords": matching, "maxMatchingWords": max, "score": detail.score()}),
                ),
                Self::Typo { count, max } => (
                    "typo".to_owned(),
                    json!({"order": order, "typoCount": count, "maxTypoCount": max, "score": detail.score()}),
                ),
                Self::Proximity(rank) => ("proximity".to_owned(), plain(order, *rank)),
                Self::Relevance(rank) => ("relevance".to_owned(), plain(order, *rank)),
                Self::AttributeRank { rank, unified: false } => {
                    ("attributeRank".to_owned(), plain(order, *rank))
                }
                Self::WordPosition { rank, unified: false } => {
                    ("wordPosition".to_owned(), plain(order, *rank))
                }
                Self::AttributeRank { rank, unified: true } => (
                    "attribute".to_owned(),
                    json!({"order": order, "attributeRankingOrderScore": rank.score(), "score": rank.score()}),
                ),
                Self::WordPosition { rank, unified: true } => {
                    if let Some(Value::Object(attribute)) = shown.get_mut("attribute") {
                        let both = before.and_then(Self::rank).into_iter().chain([*rank]);
                        attribute.remove("score");
                        attribute.insert("queryWordDistanceScore".to_owned(), json!(rank.score()));
                        attribute.insert("score".to_owned(), json!(Rank::merged(both)));
                    }
                    before = Some(detail);
                    continue;
                }
                Self::ExactAttribute(found) => (
                    "exactness".to_owned(),
                    json!({"order": order, "matchType": found.name(), "score": found.rank().score()}),
                ),
                Self::ExactWords { matching, max } => {
                    let attribute = shown.get_mut("exactness").and_then(Value::as_object_mut);
                    if let (Some(exactness), Some(Self::ExactAttribute(MatchType::None))) =
                        (attribute, before)
                    {
                        let both = before.and_then(Self::rank).into_iter().chain(detail.rank());
                        exactness.remove("score");
                        exactness.insert("matchingWords".to_owned(), json!(matching));
                        exactness.insert("maxMatchingWords".to_owned(), json!(max));
                        exactness.insert("score".to_owned(), json!(Rank::merged(both)));
                    }
                    before = Some(detail);
                    continue;
                }
                Self::Sort { field, ascending, value } => {
                    let direction = if *ascending { "asc" } else { "desc" };
                    if displayed(field) {
                        (format!("{field}:{direction}"), json!({"order": order, "value": shown_value(value)}))
                    } else {
                        (format!("<hidden-rule-{order}>"), json!({"order": order, "value": "<hidden>"}))
                    }
                }
                Self::Geo { origin: GeoPoint { lat, lng }, ascending, nearest } => {
                    let direction = if *ascending { "asc" } else { "desc" };
                    let point = nearest.map(|(GeoPoint { lat, lng }, _)| json!({"lat": lat, "lng": lng}));
                    let distance = nearest.map(|(_, distance)| distance);
                    (
                        format!("_geoPoint({lat}, {lng}):{direction}"),
                        json!({"order": order, "value": point, "distance": distance}),
                    )
                }
                Self::Vector { similarity } => {
                    ("vectorSort".to_owned(), json!({"order": order, "similarity": similarity}))
                }
                Self::Skipped => ("skipped".to_owned(), json!({"order": order})),
                Self::Scale { actions, total_weight } => {
                    let shown =
                        |action: &ScaledBy| json!({"ruleUid": action.rule_uid, "weight": action.weight});
                    let actions: Vec<Value> = actions.iter().map(shown).collect();
                    (
                        "scale".to_owned(),
                        json!({"order": order, "actions": actions, "totalWeight": total_weight}),
                    )
                }
                Self::Pin { position } => ("pin".to_owned(), json!({"order": order, "position": position})),
            };
            shown.insert(key, value);
            order += 1;
            before = Some(detail);
        }
        shown
    }

    fn score(&self) -> f64 {
        self.rank().map_or(0.0, Rank::score)
    }
}

fn plain(order: u32, rank: Rank) -> Value {
    json!({"order": order, "score": rank.score()})
}

fn shown_value(value: &SortValue) -> Value {
    match value {
        SortValue::Number(number) => json!(number),
        SortValue::String(text) => json!(text),
        SortValue::None => Value::Null,
    }
}
