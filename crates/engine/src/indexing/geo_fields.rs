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
        Value::Object(object) => match object.keys().find(|name| !matches!(name.as_str(), "lat" | "lng")) {
            Some(extra) => format!("`_geo` has an unknown field `{extra}` beside `lat` and `lng`"),
            None => match ["lat", "lng"].into_iter().find_map(|name| coordinate_fault(object, name)) {
                Some(fault) => fault,
                None => return Ok(()),
            },
        },
        other => format!("`_geo` must be an object with `lat` and `lng`, found `{other}`"),
    };
    Err(Error::user("invalid_document_geo_field", format!("document `{id}`: {fault}")))
}

/// Returns why a coordinate is not valid; `None` if it is.
fn coordinate_fault(point: &Map<String, Value>, name: &str) -> Option<String> {
    let value = point.get(name);
    if value.and_then(coordinate).is_some() {
        return None;
    }
    let found = value.map_or_else(|| "nothing".to_owned(), |value| format!("`{value}`"));
    Some(format!("`_geo.{name}` must be a number or a string holding one, found {found}"))
}

/// Checks `_geojson`: a geometry, feature or collection. `id` of the document is for the message.
///
/// # Errors
/// `invalid_document_geo_field`.
pub fn check_geojson(id: &str, shape: &Value) -> Result<()> {
    let fault = match shapes_of(shape) {
        Ok(_) => return Ok(()),
        Err(fault) => fault,
    };
    Err(Error::user("invalid_document_geo_field", format!("document `{id}`: `_geojson`: {fault}")))
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
