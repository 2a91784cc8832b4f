//! Edits documents with scripts.
//!
//! Independent of indexes and Node: the input is a page of documents as JSON, the output the changed documents.

mod bounded;
mod convert;
mod edit;
mod limits;
mod memory;
mod meter;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use edit::{Edited, Script};
use limits::{PAGE_BYTES_MAX, STACK_BYTES};
use meter::Meter;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Measures the memory of scripts: see [`memory`].
#[global_allocator]
static ALLOCATOR: memory::Counted = memory::Counted;

/// A mistake of the user: a code of the API's table, and a message to show unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `bad_request` or `edit_documents_by_function_error`.
    pub code: &'static str,
    /// Names the mistake and its position.
    pub message: String,
}

impl Failure {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Returns the error for a script that failed on a document.
fn failed(reason: impl std::fmt::Display) -> Failure {
    Failure::new("edit_documents_by_function_error", format!("the function failed: {reason}"))
}

/// A script with a page of documents.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// Source of the script.
    function: String,
    /// Value of `context` in the script; null: none.
    context: Option<Map<String, Value>>,
    /// Name or dotted path of the field that identifies documents; null only if there are no documents.
    primary_key: Option<String>,
    /// Time limit in milliseconds for all documents of the page.
    time_ms_max: u64,
    /// The answer to a document listing; only `results` is read.
    documents: Documents,
}

#[derive(Debug, Deserialize)]
struct Documents {
    results: Vec<Map<String, Value>>,
}

/// The result of a script for a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EditedPage {
    /// Changed documents as NDJSON.
    pub changed: Vec<u8>,
    /// Ids of documents to delete.
    pub deleted: Vec<String>,
    /// Number of documents edited, from the first. Fewer than all if the changed documents become large.
    pub documents: usize,
}

/// Runs a script on a page of documents, until `stop` is set.
///
/// # Errors
/// `bad_request` if the script does not compile, otherwise `edit_documents_by_function_error`.
pub fn edit_page(page: &[u8], stop: Option<Arc<AtomicBool>>) -> Result<EditedPage, Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("script".to_owned()).stack_size(STACK_BYTES);
        let edited = thread
            .spawn_scoped(scope, move || edit_in_thread(page, stop))
            .map_err(|error| Failure::new("internal", format!("no thread for a script: {error}")))?
            .join();
        edited.unwrap_or_else(|_| Err(Failure::new("internal", "a script panicked")))
    })
}

fn edit_in_thread(page: &[u8], stop: Option<Arc<AtomicBool>>) -> Result<EditedPage, Failure> {
    let page: Page = serde_json::from_slice(page)
        .map_err(|error| Failure::new("internal", format!("a page does not parse: {error}")))?;
    let deadline = Instant::now() + Duration::from_millis(page.time_ms_max);
    let script = Script::compile(&page.function, page.context.as_ref(), Meter::new(deadline, stop))?;
    let mut edited = EditedPage::default();
    for document in &page.documents.results {
        let id = page.primary_key.as_deref().and_then(|key| id_in(document, key)).unwrap_or_default();
        match script.run(document)? {
            Edited::Unchanged => {}
            Edited::Deleted => edited.deleted.push(id),
            Edited::Changed(after) => {
                check_same_id(&id, &after, page.primary_key.as_deref().unwrap_or_default())?;
                edited.changed.extend_from_slice(Value::Object(after).to_string().as_bytes());
                edited.changed.push(b'\n');
            }
        }
        edited.documents += 1;
        if edited.changed.len() >= PAGE_BYTES_MAX {
            break;
        }
    }
    Ok(edited)
}

fn check_same_id(id: &str, after: &Map<String, Value>, key: &str) -> Result<(), Failure> {
    let found = id_in(after, key);
    if found.as_deref() == Some(id) {
        return Ok(());
    }
    let found = found.map_or_else(|| "none".to_owned(), |found| format!("`{found}`"));
    Err(failed(format!("the id of document `{id}` must stay as it is, but it has become {found}")))
}

/// Returns the id of a document as text: at the key itself, or else at the dotted path.
fn id_in(document: &Map<String, Value>, key: &str) -> Option<String> {
    let value = match document.get(key) {
        Some(value) => value,
        None => {
            let (first, rest) = key.split_once('.')?;
            return id_in(document.get(first)?.as_object()?, rest);
        }
    };
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(function: &str, primary_key: &str, documents: &str) -> Result<EditedPage, Failure> {
        let page = format!(
            r#"{{"function":{},"context":null,"primaryKey":"{primary_key}","timeMsMax":60000,"documents":{{"results":{documents}}}}}"#,
            Value::from(function)
        );
        edit_page(page.as_bytes(), None)
    }

    #[test]
    fn a_page_reports_changed_and_deleted_documents() {
        let documents = r#"[{"id":1,"n":1},{"id":"b","n":2},{"id":3,"n":3}]"#;
        let page = edited("if doc.n == 1 { doc = () } else if doc.n == 2 { doc.n += 40 }", "id", documents);
        let page = page.expect("it runs");
        assert_eq!(page.deleted, ["1"]);
        assert_eq!(String::from_utf8(page.changed).unwrap(), "{\"id\":\"b\",\"n\":42}\n");
        assert_eq!(page.documents, 3);
    }

    #[test]
    fn a_page_ends_early_if_its_changes_become_large() {
        let documents: Vec<Value> = (0..20).map(|id| serde_json::json!({ "id": id })).collect();
        let function = "let s = \"\"; s.pad(9000000, 'x'); doc.s = s";
        let page = edited(function, "id", &Value::Array(documents).to_string()).expect("it runs");
        assert_eq!(page.documents, 4);
        assert_eq!(page.changed.iter().filter(|byte| **byte == b'\n').count(), 4);
    }

    #[test]
    fn a_script_cannot_change_an_id() {
        let cases = [
            ("doc.id = 2", "id", r#"[{"id":1}]"#, true),
            ("doc.remove(\"id\")", "id", r#"[{"id":1}]"#, true),
            ("doc.ref.code = \"z\"", "ref.code", r#"[{"ref":{"code":"k"}}]"#, true),
            ("doc.ref.code = \"k\"; doc.n = 1", "ref.code", r#"[{"ref":{"code":"k"}}]"#, false),
            // The API treats 1 and "1" as the same id.
            ("doc.id = \"1\"", "id", r#"[{"id":1}]"#, false),
        ];
        for (function, key, documents, is_refused) in cases {
            assert_eq!(edited(function, key, documents).is_err(), is_refused, "{function}");
        }
    }
}
