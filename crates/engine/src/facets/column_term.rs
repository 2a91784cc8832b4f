//! The terms of a string column: normalised ‖ 0 ‖ original.

use crate::analysis::normalize_facet;
use crate::error::{Error, Result};
use crate::fields::at_most;
use crate::store::schema::COLUMN_BYTES_MAX;

/// Returns the form of a document's string for comparisons: normalised and cut to [`COLUMN_BYTES_MAX`]. `None` if it is
/// empty then; columns do not contain empty strings.
pub fn compared_form(text: &str) -> Option<String> {
    let mut form = normalize_facet(text);
    form.truncate(at_most(&form, COLUMN_BYTES_MAX).len());
    (!form.is_empty()).then_some(form)
}

/// Returns the term of a string: [`compared_form`] ‖ 0 ‖ original, also cut to [`COLUMN_BYTES_MAX`].
pub fn column_term(text: &str) -> Option<String> {
    let mut term = compared_form(text)?;
    term.push('\0');
    term.push_str(at_most(text, COLUMN_BYTES_MAX));
    Some(term)
}

/// Splits a term into its normalised and its original form.
pub(super) fn split(term: &[u8]) -> Result<(String, String)> {
    let text = std::str::from_utf8(term).map_err(|error| Error::internal("a column is damaged", error))?;
    let (normalised, original) = text.split_once('\0').unwrap_or((text, text));
    Ok((normalised.to_owned(), original.to_owned()))
}

/// Returns the normalised form of a term. Terms with the same form are a group.
pub(super) fn group_key(term: &[u8]) -> &[u8] {
    term.iter().position(|&byte| byte == 0).map_or(term, |end| &term[..end])
}
