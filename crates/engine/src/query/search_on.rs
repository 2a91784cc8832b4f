//! Resolves `attributesToSearchOn` to fields.

use crate::error::{Error, Result};
use crate::fields::{FieldId, is_same_or_below, matches_pattern, shown_names};
use crate::postings::Postings;
use crate::settings::Settings;

/// Code of an attribute that is not searchable.
pub(crate) const SEARCH_ON_CODE: &str = "invalid_search_attributes_to_search_on";

/// Returns the fields to search, ascending. None: every searchable field.
///
/// A plain name means that field alone, without the fields nested in it. Source: search §18.
///
/// # Errors
/// `invalid_search_attributes_to_search_on` if an entry matches no searchable attribute and the settings list
/// searchable attributes.
pub(crate) fn fields(postings: &Postings, search_on: Option<&[String]>) -> Result<Option<Vec<FieldId>>> {
    let Some(entries) = search_on else { return Ok(None) };
    let (searchable, names) = (postings.searchable(), postings.snapshot().fields());
    let settings = postings.snapshot().settings();
    let mut fields = Vec::new();
    for entry in entries {
        let is_pattern = entry.contains('*');
        let fits = |field: &FieldId| names.name(*field).is_some_and(|name| matches_pattern(entry, name));
        let before = fields.len();
        fields.extend(searchable.fields().filter(fits));
        let listed = settings.searchable_attributes.iter();
        let known = entry == "*"
            || fields.len() > before
            || !is_pattern && listed.clone().any(|listed| is_same_or_below(listed, entry))
            || settings.searches_everything();
        if !known {
            return Err(unknown(entry, settings));
        }
    }
    // `*` lifts the restriction, but the other entries must still exist.
    if entries.iter().any(|entry| entry == "*") {
        return Ok(None);
    }
    fields.sort_unstable();
    fields.dedup();
    Ok(Some(fields))
}

fn unknown(entry: &str, settings: &Settings) -> Error {
    let names = shown_names(settings, settings.searchable_attributes.iter().map(String::as_str));
    let message = format!(
        "Attribute `{entry}` is not searchable. Available searchable attributes are: `{}`.",
        names.join("`, `")
    );
    Error::user(SEARCH_ON_CODE, message)
}
