//! Converts documents between JSON and values of scripts.

use rhai::Dynamic;
use serde_json::{Map, Number, Value};

use crate::limits::{DEPTH_MAX, DOCUMENT_BYTES_MAX, MEMORY_BYTES_MAX};
use crate::meter::{Exceeded, Meter};
use crate::{Failure, failed};

/// # Errors
/// If the document takes more memory than a script may use.
pub fn object_to_script(object: &Map<String, Value>, meter: &Meter) -> Result<Dynamic, Failure> {
    let mut fields = rhai::Map::new();
    for (name, value) in object {
        fields.insert(name.as_str().into(), to_script(value, meter)?);
    }
    Ok(Dynamic::from_map(fields))
}

fn to_script(value: &Value, meter: &Meter) -> Result<Dynamic, Failure> {
    Ok(match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(flag) => Dynamic::from_bool(*flag),
        Value::Number(number) => number_to_script(number),
        Value::String(text) if meter.used().saturating_add(text.len()) > MEMORY_BYTES_MAX => {
            return Err(failed(Exceeded::Memory));
        }
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            let memory = size_of::<Dynamic>().saturating_mul(items.len());
            if meter.used().saturating_add(memory) > MEMORY_BYTES_MAX {
                return Err(failed(Exceeded::Memory));
            }
            let mut array = rhai::Array::with_capacity(items.len());
            for item in items {
                array.push(to_script(item, meter)?);
            }
            Dynamic::from_array(array)
        }
        Value::Object(object) => object_to_script(object, meter)?,
    })
}

/// Scripts see integers beyond 64 signed bits as floats.
fn number_to_script(number: &Number) -> Dynamic {
    number
        .as_i64()
        .map_or_else(|| Dynamic::from_float(number.as_f64().unwrap_or_default()), Dynamic::from_int)
}

/// Converts the result of a script to JSON, up to a size limit.
pub struct Reader {
    bytes_left: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Self { bytes_left: DOCUMENT_BYTES_MAX }
    }
}

impl Reader {
    /// Converts an object. Keys keep their order `before`; new keys come last.
    pub fn object(
        &mut self,
        fields: &rhai::Map,
        before: Option<&Map<String, Value>>,
        depth: usize,
    ) -> Result<Map<String, Value>, Failure> {
        let mut object = Map::new();
        for (name, old) in before.into_iter().flatten() {
            if let Some(value) = fields.get(name.as_str()) {
                object.insert(self.text(name)?, self.value(value, Some(old), depth + 1)?);
            }
        }
        for (name, value) in fields {
            if !object.contains_key(name.as_str()) {
                object.insert(self.text(name)?, self.value(value, None, depth + 1)?);
            }
        }
        Ok(object)
    }

    /// Converts a value. Unchanged values keep the spelling they had `before`.
    fn value(&mut self, value: &Dynamic, before: Option<&Value>, depth: usize) -> Result<Value, Failure> {
        if depth > DEPTH_MAX {
            return Err(failed(format!("the document is nested deeper than {DEPTH_MAX} levels")));
        }
        self.take(1)?;
        if value.is_unit() {
            return Ok(Value::Null);
        }
        if let Ok(flag) = value.as_bool() {
            return Ok(Value::Bool(flag));
        }
        if let Ok(integer) = value.as_int() {
            return Ok(Value::Number(integer.into()));
        }
        if let Ok(float) = value.as_float() {
            return float_from_script(float, before);
        }
        if let Ok(text) = value.as_immutable_string_ref() {
            return Ok(Value::String(self.text(&text)?));
        }
        if let Ok(letter) = value.as_char() {
            return Ok(Value::String(letter.into()));
        }
        if let Some(items) = value.read_lock::<rhai::Array>() {
            let old = before.and_then(Value::as_array);
            let mut read = Vec::with_capacity(items.len());
            for (position, item) in items.iter().enumerate() {
                read.push(self.value(item, old.and_then(|old| old.get(position)), depth + 1)?);
            }
            return Ok(Value::Array(read));
        }
        if let Some(fields) = value.read_lock::<rhai::Map>() {
            return self.object(&fields, before.and_then(Value::as_object), depth).map(Value::Object);
        }
        Err(failed(format!("a document cannot hold a {}", value.type_name())))
    }

    fn text(&mut self, text: &str) -> Result<String, Failure> {
        self.take(text.len())?;
        Ok(text.to_owned())
    }

    fn take(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or_else(|| failed(format!("the document has grown over {DOCUMENT_BYTES_MAX} bytes")))?;
        Ok(())
    }
}

fn float_from_script(float: f64, before: Option<&Value>) -> Result<Value, Failure> {
    if let Some(Value::Number(old)) = before
        && old.as_f64() == Some(float)
        && old.as_i64().is_none()
    {
        return Ok(Value::Number(old.clone()));
    }
    Number::from_f64(float).map(Value::Number).ok_or_else(|| failed(format!("{float} is no number of JSON")))
}
