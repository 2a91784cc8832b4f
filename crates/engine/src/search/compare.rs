//! Compares two hits of different lists.
//!
//! The lists come from several queries, or from words and vectors. The score details of a hit become a list of values:
//! consecutive ranks form a score, multiplied by the weights of the query and of dynamic search rules; sort values come
//! between scores. Lists are
//! compared entry by entry. Source: search §15, operations §17.

use std::cmp::Ordering;

use serde_json::{Value as Json, json};

use crate::facets::SortValue;
use crate::ranking::{Rank, ScoreDetail};

/// A value for comparing hits.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Greater is better.
    Score(f64),
    Sort {
        ascending: bool,
        value: SortValue,
    },
    /// A distance in metres.
    Geo {
        ascending: bool,
        distance: Option<f64>,
    },
    /// The position of a pinned hit. Positions are not compared.
    Pin(u32),
}

impl Value {
    /// Returns the values of a hit, most important first. `weight`: weight of its query.
    pub fn list(details: &[ScoreDetail], weight: f64) -> Vec<Self> {
        let weight = weight * ScoreDetail::scale(details);
        let mut values = Vec::new();
        let mut ranks: Vec<Rank> = Vec::new();
        for detail in details {
            if let Some(rank) = detail.rank() {
                ranks.push(rank);
                continue;
            }
            fold(&mut ranks, weight, &mut values);
            match detail {
                ScoreDetail::Sort { ascending, value, .. } => {
                    values.push(Self::Sort { ascending: *ascending, value: value.clone() });
                }
                ScoreDetail::Geo { ascending, nearest, .. } => {
                    let distance = nearest.map(|(_, distance)| distance);
                    values.push(Self::Geo { ascending: *ascending, distance });
                }
                ScoreDetail::Vector { similarity } => {
                    values.push(Self::Score(similarity.map_or(0.0, f64::from) * weight));
                }
                ScoreDetail::Pin { position } => values.push(Self::Pin(*position)),
                _ => {}
            }
        }
        fold(&mut ranks, weight, &mut values);
        values
    }

    /// Renders the value as JSON, for an instance that merges these hits with its own.
    pub fn render(&self) -> Json {
        match self {
            Self::Score(score) => json!({"score": score}),
            Self::Pin(position) => json!({"pin": position}),
            Self::Sort { ascending, value } => {
                let value = match value {
                    SortValue::Number(number) => json!(number),
                    SortValue::String(text) => json!(text),
                    SortValue::None => Json::Null,
                };
                json!({"sort": {"ascending": ascending, "value": value}})
            }
            Self::Geo { ascending, distance } => {
                json!({"geo": {"ascending": ascending, "value": distance}})
            }
        }
    }
}

fn fold(ranks: &mut Vec<Rank>, weight: f64, values: &mut Vec<Value>) {
    if !ranks.is_empty() {
        values.push(Value::Score(Rank::merged(ranks.drain(..)) * weight));
    }
}

/// Returns `Less` if the hit with values `a` comes first. `scores`: the weighted overall scores of both hits.
pub(super) fn compare(a: &[Value], b: &[Value], scores: (f64, f64)) -> Ordering {
    for at in 0..a.len().max(b.len()) {
        let (left, right) = match (a.get(at), b.get(at)) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Greater,
            (Some(_), None) => return Ordering::Less,
            (Some(left), Some(right)) => (left, right),
        };
        let order = match (left, right) {
            (Value::Score(left), Value::Score(right)) if (left - right).abs() <= f64::EPSILON => continue,
            (Value::Score(left), Value::Score(right)) => right.total_cmp(left),
            (Value::Sort { ascending, value: left }, Value::Sort { ascending: same, value: right })
                if ascending == same =>
            {
                compare_sorted(left, right, *ascending)
            }
            (Value::Geo { ascending, distance: left }, Value::Geo { ascending: same, distance: right })
                if ascending == same =>
            {
                let value = |distance: &Option<f64>| distance.map_or(SortValue::None, SortValue::Number);
                compare_sorted(&value(left), &value(right), *ascending)
            }
            // Values of different kinds cannot be compared: the longer list wins, then the greater score.
            _ => return b.len().cmp(&a.len()).then(scores.1.total_cmp(&scores.0)),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Numbers come before strings, and strings before missing values, in both directions.
fn compare_sorted(a: &SortValue, b: &SortValue, ascending: bool) -> Ordering {
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

#[cfg(test)]
mod tests {
    //! 1. A later entry decides only between hits with equal earlier entries.
    //! 2. Values with the same sort order are compared; a missing value always comes last.
    //! 3. If entries differ in kind, the longer list wins, then the greater score.

    use super::*;

    fn sort(ascending: bool, value: SortValue) -> Value {
        Value::Sort { ascending, value }
    }

    #[test]
    fn earlier_entries_decide_first() {
        let cases = [
            (vec![Value::Score(0.9)], vec![Value::Score(0.8)], Ordering::Less),
            (vec![Value::Score(0.9)], vec![Value::Score(0.9)], Ordering::Equal),
            (vec![Value::Score(0.9), Value::Score(0.1)], vec![Value::Score(0.9)], Ordering::Less),
            (
                vec![Value::Score(0.5), sort(true, SortValue::Number(2.0))],
                vec![Value::Score(0.5), sort(true, SortValue::Number(1.0))],
                Ordering::Greater,
            ),
            (
                vec![sort(false, SortValue::Number(2.0))],
                vec![sort(false, SortValue::Number(1.0))],
                Ordering::Less,
            ),
            (
                vec![sort(false, SortValue::String("b".into()))],
                vec![sort(false, SortValue::None)],
                Ordering::Less,
            ),
            (
                vec![sort(true, SortValue::String("b".into()))],
                vec![sort(true, SortValue::Number(9.0))],
                Ordering::Greater,
            ),
            (
                vec![Value::Geo { ascending: true, distance: None }],
                vec![Value::Geo { ascending: true, distance: Some(1e9) }],
                Ordering::Greater,
            ),
        ];
        for (a, b, expected) in cases {
            assert_eq!(compare(&a, &b, (0.0, 0.0)), expected, "{a:?} against {b:?}");
            assert_eq!(compare(&b, &a, (0.0, 0.0)), expected.reverse(), "{b:?} against {a:?}");
        }
    }

    #[test]
    fn the_longer_list_wins_for_entries_of_different_kinds() {
        let number = sort(true, SortValue::Number(1.0));
        let short = vec![Value::Score(1.0)];
        let long = vec![number.clone(), Value::Score(0.1)];
        assert_eq!(compare(&short, &long, (1.0, 0.1)), Ordering::Greater);
        assert_eq!(compare(&short, &[number], (1.0, 0.1)), Ordering::Less);
    }
}
