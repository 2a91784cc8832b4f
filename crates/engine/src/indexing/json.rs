//! A parsed document, which borrows from its text where possible.
//!
//! The documents of a body are read once, flattened and dropped. Copying their keys and texts would take most of that
//! time. Numbers and repeated keys are handled as in `serde_json::Value`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Number, Value};

use crate::error::Context as _;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number. Numbers outside the range of floats become null.
    Number(Number),
    /// A string, borrowed unless it has escapes.
    String(Cow<'a, str>),
    /// A list.
    Array(Vec<Json<'a>>),
    /// Keys and values.
    Object(Object<'a>),
}

/// Keys in the order received. A repeated key has its last value at its first position.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> Object<'a> {
    /// Returns keys and values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// Returns true if it has no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if it has a key.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| known == key)
    }

    /// Serialises the document as it is stored: UTF-8 JSON.
    ///
    /// # Errors
    /// Internal, if it cannot be written as JSON.
    pub fn to_source(&self) -> crate::error::Result<Vec<u8>> {
        serde_json::to_vec(self).context("a document cannot be written as JSON")
    }

    /// Removes repeated keys.
    fn without_repeats(mut self) -> Self {
        let repeats = if self.0.len() <= FEW {
            (1..self.0.len()).any(|at| self.0[..at].iter().any(|(key, _)| *key == self.0[at].0))
        } else {
            true
        };
        if !repeats {
            return self;
        }
        let mut indexes: HashMap<Cow<'a, str>, usize, RandomState> = HashMap::default();
        let mut members: Vec<(Cow<'a, str>, Json<'a>)> = Vec::with_capacity(self.0.len());
        for (key, value) in self.0.drain(..) {
            match indexes.get(&key) {
                Some(&index) => members[index].1 = value,
                None => {
                    indexes.insert(key.clone(), members.len());
                    members.push((key, value));
                }
            }
        }
        Self(members)
    }
}

/// Comparing up to this many keys with each other is faster than hashing them.
const FEW: usize = 24;

impl Json<'_> {
    /// Makes an owned value.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.clone().into_owned()),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(object) => {
                object.iter().map(|(key, value)| (key.to_owned(), value.to_value())).collect()
            }
        }
    }
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::String(Cow::Borrowed(text)),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(object) => Self::Object(object.into()),
        }
    }
}

impl<'a> From<&'a Map<String, Value>> for Object<'a> {
    fn from(object: &'a Map<String, Value>) -> Self {
        Self(object.iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), value.into())).collect())
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(truth) => to.serialize_bool(*truth),
            Self::Number(number) => number.serialize(to),
            Self::String(text) => to.serialize_str(text),
            Self::Array(items) => to.collect_seq(items),
            Self::Object(object) => object.serialize(to),
        }
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyJson)
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(AnyObject)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json<'de>;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("any valid JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(truth))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Json<'de>, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Json<'de>, A::Error> {
        AnyObject.visit_map(entries).map(Json::Object)
    }
}

struct AnyObject;

impl<'de> Visitor<'de> for AnyObject {
    type Value = Object<'de>;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Object<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some((Key(key), value)) = entries.next_entry()? {
            list.push((key, value));
        }
        Ok(Object(list).without_repeats())
    }
}

/// A key, borrowed unless it has escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(AnyKey)
    }
}

struct AnyKey;

impl<'de> Visitor<'de> for AnyKey {
    type Value = Key<'de>;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a string key")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Borrowed(key)))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key<'de>, E> {
        Ok(Key(Cow::Owned(key.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates JSON texts with escapes, repeated keys, and numbers of all sizes.
    fn text() -> impl Strategy<Value = String> {
        let string =
            proptest::sample::select(&[r#""a""#, r#""b\n""#, r#""\u00e9""#, r#""ü b""#, r#""""#][..]);
        let number = prop_oneof![
            any::<i64>().prop_map(|number| number.to_string()),
            any::<u64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| Value::from(number).to_string()),
            Just("1e400".to_owned()),
            Just("-0.0".to_owned()),
            Just("100000000000000000000".to_owned()),
        ];
        let leaf = prop_oneof![
            string.clone().prop_map(str::to_owned),
            number,
            proptest::sample::select(&["null", "true", " false "][..]).prop_map(str::to_owned),
        ];
        leaf.prop_recursive(4, 200, 40, move |inner| {
            let pairs = proptest::collection::vec((string.clone(), inner.clone()), 0..40);
            prop_oneof![
                proptest::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
                pairs.prop_map(|pairs| {
                    let pairs = pairs.iter().map(|(key, value)| format!("{key}:{value}"));
                    format!("{{{}}}", pairs.collect::<Vec<_>>().join(" ,"))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_equal_those_of_serde_json(text in text()) {
            let expected: Value = match serde_json::from_str(&text) {
                Ok(value) => value,
                Err(_) => {
                    prop_assert!(serde_json::from_str::<Json<'_>>(&text).is_err());
                    return Ok(());
                }
            };
            let read: Json<'_> = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.to_value(), expected.clone());
            prop_assert_eq!(serde_json::to_string(&read).unwrap(), expected.to_string());
            prop_assert_eq!(Json::from(&expected), read);
        }
    }

    #[test]
    fn errors_equal_those_of_serde_json() {
        for text in ["", "[]", "{", r#"{"a":}"#, r#"{"a":1}x"#, r#"{1:2}"#, "{\"a\":\"\u{1}\"}", "7"] {
            let expected = serde_json::from_str::<Map<String, Value>>(text).unwrap_err().to_string();
            assert_eq!(serde_json::from_str::<Object<'_>>(text).unwrap_err().to_string(), expected, "{text}");
        }
    }
}
