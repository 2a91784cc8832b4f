//! Lists and fetches documents without a search. Source: documents §5.

use std::sync::Arc;

use roaring::RoaringBitmap;
use serde_json::{Map, Value};

use super::bounds::Bounds;
use super::json_writer::{Members, write_display, write_json};
use super::projection::{HIDDEN, Selection, project_plain, top_level};
use super::request::{DocumentRequest, DocumentsRequest, decode};
use super::sort_request::parse_sort;
use crate::error::{Error, Result};
use crate::facets::{Columns, GeoBuckets, SortBuckets};
use crate::fields::is_id;
use crate::filter::{self, Foreign, ForeignIndexes, Indexes, Scope};
use crate::ranking::SortCriterion;
use crate::store::Snapshot;
use crate::vector::shown;

/// Lists documents (`DocumentsRequest` as UTF-8 JSON), in docid order unless sorted. `indexes` resolves foreign keys.
///
/// # Errors
/// `invalid_document_filter`, `invalid_document_sort`, `invalid_document_ids`.
pub fn documents(snapshot: &Snapshot, request: &[u8], indexes: &dyn Indexes) -> Result<Vec<u8>> {
    let request: DocumentsRequest = decode(request)?;
    let features = request.features;
    let indexes = ForeignIndexes::new(indexes);
    let foreign = request.foreign_keys.as_deref().map(|keys| Foreign { keys, indexes: &indexes });
    let scope = Scope {
        code: "invalid_document_filter",
        index_uid: None,
        features,
        stop: None,
        until: None,
        foreign,
    };
    let bounds = Bounds::new(request.answer_bytes_max);
    let mut universe = filter::passing(snapshot, &request.filter, &scope)?;
    if let Some(ids) = &request.ids {
        let mut wanted = RoaringBitmap::new();
        for (at, id) in ids.iter().enumerate() {
            if !is_id(id) {
                let message = format!("`.ids[{at}]`: `{id}` is no document id");
                return Err(Error::user("invalid_document_ids", message));
            }
            wanted.extend(snapshot.docid_of(id)?);
        }
        universe = Arc::new(&*universe & wanted);
    }
    let sort = parse_sort(
        request.sort.as_deref().unwrap_or_default(),
        snapshot.settings(),
        "invalid_document_sort",
        None,
    )?;
    let page: Vec<u32> = if sort.is_empty() {
        universe.iter().skip(request.offset).take(request.limit).collect()
    } else {
        let wanted = request.offset.saturating_add(request.limit);
        list_sorted(snapshot, &sort, &universe, wanted)?.into_iter().skip(request.offset).collect()
    };
    let selection = request.fields.map_or(Selection::All, Selection::Paths);
    let mut body = b"{\"results\":[".to_vec();
    let mut text = Vec::new();
    for (at, docid) in page.into_iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        text.clear();
        write_document(snapshot, docid, &selection, request.retrieve_vectors, &mut text)?;
        bounds.append(&text, &mut body)?;
    }
    let (offset, limit, total) = (request.offset, request.limit, universe.len());
    write_display(format_args!("],\"offset\":{offset},\"limit\":{limit},\"total\":{total}}}"), &mut body);
    Ok(body)
}

/// Fetches a document (`DocumentRequest` as UTF-8 JSON). Returns `None` if no document has this id.
pub fn document(snapshot: &Snapshot, request: &[u8]) -> Result<Option<Vec<u8>>> {
    let request: DocumentRequest = decode(request)?;
    let Some(docid) = snapshot.docid_of(&request.id)? else { return Ok(None) };
    let selection = request.fields.map_or(Selection::All, Selection::Paths);
    let mut body = Vec::new();
    write_document(snapshot, docid, &selection, request.retrieve_vectors, &mut body)?;
    Ok(Some(body))
}

/// Returns the JSON of a stored document. It is not cached, because a listing reads every document once.
fn text_of(snapshot: &Snapshot, docid: u32) -> Result<String> {
    let gone = || Error::internal("a listed document is gone", format!("docid {docid}"));
    let bytes = snapshot.source(docid)?.ok_or_else(gone)?;
    String::from_utf8(bytes).map_err(|error| Error::internal("a stored document is not text", error))
}

fn write_document(
    snapshot: &Snapshot,
    docid: u32,
    selection: &Selection,
    with_vectors: bool,
    out: &mut Vec<u8>,
) -> Result<()> {
    let source = text_of(snapshot, docid)?;
    project_plain(&source, selection, &HIDDEN, out);
    if with_vectors {
        add_vectors(&shown(snapshot, docid, top_level(&source, "_vectors"))?, out);
    }
    Ok(())
}

/// Adds `_vectors` to the object at the end of `out`.
fn add_vectors(vectors: &Map<String, Value>, out: &mut Vec<u8>) {
    out.pop();
    Members { first: out.last() == Some(&b'{') }.begin("_vectors", out);
    write_json(vectors, out);
    out.push(b'}');
}

/// Writes a stored document with all its vectors.
///
/// # Errors
/// Same as `vectors`, which gets the JSON text of the stored `_vectors`.
pub fn write_whole(
    source: &str,
    vectors: impl FnOnce(Option<&str>) -> Result<Map<String, Value>>,
    out: &mut Vec<u8>,
) -> Result<()> {
    project_plain(source, &Selection::All, &HIDDEN, out);
    let vectors = vectors(top_level(source, "_vectors"))?;
    if !vectors.is_empty() {
        add_vectors(&vectors, out);
    }
    Ok(())
}

/// Returns the first `wanted` documents of `universe` in the order of `criteria`, then of docids.
fn list_sorted(
    snapshot: &Snapshot,
    criteria: &[SortCriterion],
    universe: &RoaringBitmap,
    wanted: usize,
) -> Result<Vec<u32>> {
    let columns = Columns::new(snapshot);
    // A repeated field changes nothing, so skipping it limits the depth to the number of fields.
    let mut distinct: Vec<&SortCriterion> = Vec::new();
    for criterion in criteria {
        let same = |other: &&SortCriterion| match (criterion, other) {
            (SortCriterion::Field { path, .. }, SortCriterion::Field { path: other, .. }) => path == other,
            (one, other) => one == *other,
        };
        if !distinct.iter().any(same) {
            distinct.push(criterion);
        }
    }
    // Unfinished buckets of each criterion; the last criterion is on top.
    let mut listed = Vec::new();
    let mut open: Vec<Buckets> = Vec::new();
    let mut next = Some((universe.clone(), 0));
    while listed.len() < wanted {
        if let Some((bucket, depth)) = next.take() {
            match distinct.get(depth) {
                Some(criterion) if bucket.len() > 1 => open.push(Buckets::new(&columns, criterion, &bucket)?),
                _ => listed.extend(bucket.iter().take(wanted - listed.len())),
            }
            continue;
        }
        let Some(buckets) = open.last_mut() else { break };
        match buckets.next()? {
            Some(bucket) => next = Some((bucket, open.len())),
            None => {
                open.pop();
            }
        }
    }
    Ok(listed)
}

enum Buckets {
    Field(Box<SortBuckets>),
    Geo(Box<GeoBuckets>),
}

impl Buckets {
    fn new(columns: &Columns, criterion: &SortCriterion, universe: &RoaringBitmap) -> Result<Self> {
        Ok(match criterion {
            SortCriterion::Field { path, ascending } => {
                Self::Field(Box::new(columns.sort_buckets(path, *ascending, universe)?))
            }
            SortCriterion::Geo { origin, ascending } => {
                Self::Geo(Box::new(columns.geo_buckets(*origin, *ascending, universe)?))
            }
        })
    }

    fn next(&mut self) -> Result<Option<RoaringBitmap>> {
        Ok(match self {
            Self::Field(buckets) => buckets.next_bucket()?.map(|(_, documents)| documents),
            Self::Geo(buckets) => buckets.next().map(|bucket| bucket.documents),
        })
    }
}
