//! Parses `sort` lists.

use crate::error::{Error, Result};
use crate::facets::GeoPoint;
use crate::fields::{is_same_or_below, shown_names};
use crate::ranking::SortCriterion;
use crate::settings::Settings;

/// Parses the criteria of a request.
///
/// # Errors
/// `code` if a criterion has no direction, is reserved, is malformed or is not sortable.
pub(super) fn parse_sort(
    sort: &[String],
    settings: &Settings,
    code: &'static str,
    index_uid: Option<&str>,
) -> Result<Vec<SortCriterion>> {
    let prefix = index_uid.map(|uid| format!("Index `{uid}`: ")).unwrap_or_default();
    sort.iter()
        .map(|text| parse_one(text, settings).map_err(|cause| Error::user(code, prefix.clone() + &cause)))
        .collect()
}

fn parse_one(text: &str, settings: &Settings) -> std::result::Result<SortCriterion, String> {
    let Some((name, direction)) = text.rsplit_once(':') else {
        return Err(format!(
            "invalid sort expression `{text}`: expected an expression ending with `:asc` or `:desc`"
        ));
    };
    let ascending = match direction {
        "asc" => true,
        "desc" => false,
        _ => {
            return Err(format!(
                "invalid sort expression `{text}`: expected an expression ending with `:asc` or `:desc`"
            ));
        }
    };
    let is_sortable =
        |path: &str| settings.sortable_attributes.iter().any(|name| is_same_or_below(name, path));
    let unsortable =
        |path: &str| format!("Attribute `{path}` is not sortable. {}", describe_sortable(settings));
    if let Some(arguments) = name.strip_prefix("_geoPoint(").and_then(|rest| rest.strip_suffix(')')) {
        let numbers: Vec<f64> = arguments.split(',').map_while(|number| number.trim().parse().ok()).collect();
        let (&[lat, lng], 2) = (numbers.as_slice(), arguments.split(',').count()) else {
            return Err(format!(
                "invalid sort expression `{text}`: expected `_geoPoint(latitude, longitude)`"
            ));
        };
        let within = |number: f64, most: f64| number.abs() <= most;
        if !within(lat, 90.0) || !within(lng, 180.0) {
            return Err(format!(
                "invalid sort expression `{text}`: latitudes go from -90 to 90 and longitudes from -180 to 180"
            ));
        }
        if !is_sortable("_geo") {
            return Err(unsortable("_geo"));
        }
        return Ok(SortCriterion::Geo { origin: GeoPoint { lat, lng }, ascending });
    }
    let reserved = ["_geo", "_geoDistance", "_geoPoint", "_geoRadius", "_geoBoundingBox", "_geoPolygon"];
    if reserved.iter().any(|word| name.split('(').next() == Some(word)) {
        return Err(format!(
            "`{name}` is reserved and cannot be sorted by; use `_geoPoint(latitude, longitude)`"
        ));
    }
    if !is_sortable(name) {
        return Err(unsortable(name));
    }
    Ok(SortCriterion::Field { path: name.to_owned(), ascending })
}

/// Lists the sortable attributes, for the end of a message.
fn describe_sortable(settings: &Settings) -> String {
    let sortable = &settings.sortable_attributes;
    if sortable.is_empty() {
        return "This index does not have configured sortable attributes.".to_owned();
    }
    let names = shown_names(settings, sortable.iter().map(String::as_str));
    format!("Available sortable attributes are: `{}`.", names.join(", "))
}
