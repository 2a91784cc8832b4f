//! Checks the geographic fields of a document. Source: documents §4.4–4.5.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::facets::shapes_of;
use crate::filter;
use crate::settings::Settings;

/// Parses a latitude or longitude: a finite number, or a string with one.
pub fn coordinate(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// Returns true if the value of a reserved field is well formed. Settings that use the field refuse other values.
pub fn is_well_formed(field: &str, value: &Value) -> bool {
    match field {
        "_geo" => check_geo("", value).is_ok(),
        "_geojson" => check_geojson("", value).is_ok(),
        _ => true,
    }
}

/// Checks `_geo`: null, or an object with exactly `lat` and `lng`. `id` of the document is for the message.
///
/// # Errors
/// `invalid_document_geo_field`.
pub fn check_geo(id: &str, geo: &Value) -> Result<()> {
    let fault = match geo {
        Value::Null => return Ok(()),
        Value::Object(object) => match (object.get("lat"), object.get("lng")) {
            (Some(_), Some(_)) if object.len() > 2 => "contains more than `lat` and `lng`".to_owned(),
            (Some(lat), Some(lng)) => match (coordinate(lat), coordinate(lng)) {
                (Some(_), Some(_)) => return Ok(()),
                (None, Some(_)) => format!("has a latitude that is not a number: `{lat}`"),
                (_, None) => format!("has a longitude that is not a number: `{lng}`"),
            },
            (None, Some(_)) => "has no `lat`".to_owned(),
            (Some(_), None) => "has no `lng`".to_owned(),
            (None, None) => "has neither `lat` nor `lng`".to_owned(),
        },
        other => format!("must be an object with `lat` and `lng` or null, but is `{other}`"),
    };
    let message = format!("The `_geo` field in the document with the id: `\"{id}\"` {fault}.");
    Err(Error::user("invalid_document_geo_field", message))
}

/// Checks `_geojson`: a geometry, feature or collection. `id` of the document is for the message.
///
/// # Errors
/// `invalid_document_geo_field`.
pub fn check_geojson(id: &str, shape: &Value) -> Result<()> {
    if shapes_of(shape).is_some() {
        return Ok(());
    }
    let message =
        format!("The `_geojson` field in the document with the id: `\"{id}\"` is not valid GeoJSON.");
    Err(Error::user("invalid_document_geo_field", message))
}

/// Geographic fields that must be well formed according to settings.
pub struct GeoFieldChecks {
    /// `_geo`.
    pub geo: bool,
    /// `_geojson`.
    pub geojson: bool,
}

impl GeoFieldChecks {
    /// `_geo` is checked if it is filterable or sortable, `_geojson` if it is filterable.
    pub fn new(settings: &Settings) -> Self {
        Self { geo: filter::uses_geo(settings), geojson: filter::is_geo_filterable(settings, "_geojson") }
    }

    /// Returns the reserved fields that require building a document to check it.
    pub fn fields(&self) -> Vec<&'static str> {
        let fields = [("_geo", self.geo), ("_geojson", self.geojson)];
        let fields = fields.into_iter().filter_map(|(name, checked)| checked.then_some(name));
        fields.chain(["_vectors"]).collect()
    }

    /// Checks a document.
    ///
    /// # Errors
    /// `invalid_document_geo_field`.
    pub fn run(&self, id: &str, document: &Map<String, Value>) -> Result<()> {
        match document.get("_geo") {
            Some(geo) if self.geo => check_geo(id, geo)?,
            _ => {}
        }
        match document.get("_geojson") {
            Some(shape) if self.geojson => check_geojson(id, shape)?,
            _ => {}
        }
        Ok(())
    }
}
