//! Explains a search for a document: its rank among the hits, and the query words it contains.
//!
//! `ts/operations/searches/explain.ts` derives from these facts why the document was found or excluded, for both engines.

use roaring::RoaringBitmap;
use serde_json::{Map, Value, json};

use super::analyzer::analyzer;
use super::json_writer::write_json;
use super::limits::EXPLAINED_HITS_MAX;
use super::projection::Selection;
use super::ranked_search::{distinct_of, rank_search, scope_of};
use super::request::{ExplainRequest, Paging, SearchRequest, decode};
use super::search_deadline::SearchDeadline;
use crate::error::Result;
use crate::facets::{Columns, Value as ColumnValue};
use crate::filter::{self, ForeignIndexes, Indexes};
use crate::query::Spelling;
use crate::ranking::{RankRequest, RankedHit, ScoreDetail, WordStep, WordsInDocument, words_in_document};
use crate::store::Snapshot;

/// Answers an `ExplainRequest` with `ExplainFacts`, both as UTF-8 JSON; see `ts/engine/requests.ts` and
/// `ts/engine/explain-facts.ts`. Returns `None` if no document has this id, or it is not visible.
///
/// # Errors
/// Same as a search.
pub fn explain(
    snapshot: &Snapshot,
    request: &[u8],
    search_deadline: impl Into<SearchDeadline>,
    indexes: &dyn Indexes,
) -> Result<Option<Vec<u8>>> {
    let ExplainRequest { search, document_id, visible } = decode(request)?;
    let Some(docid) = snapshot.docid_of(&document_id)? else { return Ok(None) };
    let search_deadline = search_deadline.into();
    let foreign = ForeignIndexes::new(indexes);
    let search = SearchRequest { paging: Paging::Offset { offset: 0, limit: EXPLAINED_HITS_MAX }, ..search };
    let scope = scope_of(&search, &search_deadline, &foreign);
    let visible = filter::passing(snapshot, &visible, &scope)?;
    if !visible.contains(docid) {
        return Ok(None);
    }
    let found = rank_search(snapshot, &search, &scope, &search_deadline, true)?;
    let hits = found.page();
    let at = hits.iter().position(|hit| hit.docid == docid);
    let mut facts = Map::new();
    let displayed = Selection::of(&snapshot.settings().displayed_attributes);
    let words = words(snapshot, &search, &search_deadline, (docid, &visible))?;
    facts.insert("words".to_owned(), rendered(&words, &displayed));
    facts.insert(
        "rank".to_owned(),
        match at {
            Some(at) => rank_of(&displayed, at, &hits[at], found.came_by_meaning(docid)),
            None => Value::Null,
        },
    );
    facts.insert("hitsLookedAt".to_owned(), json!(hits.len()));
    facts.insert("degraded".to_owned(), json!(found.ranked.degraded));
    let replaced_by = match (at, distinct_of(snapshot, &search)) {
        (None, Some(path)) => replacing(snapshot, path, docid, hits)?,
        _ => Value::Null,
    };
    facts.insert("replacedBy".to_owned(), replaced_by);
    let mut body = Vec::new();
    write_json(&Value::Object(facts), &mut body);
    Ok(Some(body))
}

fn words(
    snapshot: &Snapshot,
    search: &SearchRequest,
    search_deadline: &SearchDeadline,
    (docid, visible): (u32, &RoaringBitmap),
) -> Result<WordsInDocument> {
    let ask = RankRequest {
        q: search.q.as_deref(),
        universe: snapshot.shared_documents(),
        strategy: search.matching_strategy.unwrap_or(snapshot.settings().matching_strategy),
        search_on: search.attributes_to_search_on.as_deref(),
        locales: search.locales.as_deref(),
        sort: &[],
        distinct: None,
        threshold: None,
        wanted: 0,
        exhaustive: false,
        vector: None,
        only_by_vector: false,
        deadline: search_deadline.deadline(snapshot),
        scored: false,
    };
    words_in_document(snapshot, &*analyzer(snapshot)?, &ask, docid, visible)
}

fn rendered(words: &WordsInDocument, displayed: &Selection) -> Value {
    let mut languages: Vec<&str> = words.languages.iter().map(|language| language.code()).collect();
    languages.sort_unstable();
    json!({
        "languages": languages,
        "ignored": words.query.ignored,
        "excluded": words.query.negative_words,
        "excludedPhrases": words.query.negative_phrases,
        "isExcluded": words.is_ruled_out,
        "steps": words.steps.iter().map(|one| step(one, displayed)).collect::<Vec<_>>(),
        "match": words.matches,
    })
}

fn step(step: &WordStep, displayed: &Selection) -> Value {
    let (spellings, total) = &step.spellings;
    json!({
        "text": step.text,
        "parts": step.parts,
        "phrase": step.phrase,
        "firstTerm": step.terms.start(),
        "lastTerm": step.terms.end(),
        "typosMax": step.typos_max,
        "isUnfinished": step.is_unfinished,
        "isOptional": step.is_optional,
        "isInDocument": step.is_in_document,
        "spellings": spellings.iter().map(|one| spelling(one, displayed)).collect::<Vec<_>>(),
        "spellingsTotal": total,
    })
}

fn spelling(Spelling { kind, text, typos, documents, places }: &Spelling, displayed: &Selection) -> Value {
    let places: Vec<Value> = places
        .iter()
        .map(|(attribute, position)| {
            let attribute = if displayed.covers(attribute) { attribute } else { "<hidden>" };
            json!({"attribute": attribute, "position": position})
        })
        .collect();
    json!({"kind": kind, "text": text, "typos": typos, "documents": documents, "places": places})
}

fn rank_of(displayed: &Selection, at: usize, hit: &RankedHit, by_meaning: Option<bool>) -> Value {
    json!({
        "position": at,
        "score": hit.score(),
        "details": ScoreDetail::render(&hit.scores, |path| displayed.covers(path)),
        "byMeaning": by_meaning,
    })
}

/// Returns the best hit that shares a value of the distinct attribute with a document; null if there is none.
fn replacing(snapshot: &Snapshot, path: &str, docid: u32, hits: &[RankedHit]) -> Result<Value> {
    let columns = Columns::new(snapshot);
    let values =
        |docid: u32| -> Result<Vec<String>> { Ok(columns.values(path, docid)?.iter().map(key).collect()) };
    let own = values(docid)?;
    for hit in hits {
        if values(hit.docid)?.iter().any(|value| own.contains(value)) {
            let key = snapshot.primary_key().unwrap_or_default();
            let id = match snapshot.document(hit.docid)?.and_then(|document| document.get(key).cloned()) {
                Some(Value::String(id)) => id,
                id => id.unwrap_or_default().to_string(),
            };
            return Ok(json!({"attribute": path, "id": id}));
        }
    }
    Ok(Value::Null)
}

/// Returns the same text for values that count as equal. Adding zero turns minus zero into zero.
fn key(value: &ColumnValue) -> String {
    match value {
        ColumnValue::Number(number) => format!("n{}", number + 0.0),
        ColumnValue::String { normalised, .. } => format!("s{normalised}"),
    }
}
