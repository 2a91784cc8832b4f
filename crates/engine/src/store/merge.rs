//! Chooses segments to merge, and merges them into one without their deleted documents.

use tantivy::directory::OwnedBytes;
use tantivy::fastfield::{AliveBitSet, write_alive_bitset};
use tantivy::indexer::merge_filtered_segments;
use tantivy::{BitSet, Segment};

use super::docids::DELETED;
use super::layout::Layout;
use super::segment::SegmentView;
use super::segment_builder::NewSegment;
use super::segment_files::{SegmentFiles, Spill};
use crate::error::Result;

/// Size of a segment, which decides about merging it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    /// Live documents.
    pub live: u64,
    /// Documents, deleted ones included.
    pub documents: u64,
    /// Bytes on disk or in memory.
    pub bytes: u64,
}

/// Limits the choice of merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Merges of a few milliseconds, cheap enough for the commit that makes them necessary.
    Small,
    /// All merges that are worth their time.
    Any,
    /// All segments into one, even if that gains little.
    Compaction,
}

/// Segments on one level are merged once there are this many.
const LEVEL_SEGMENTS_MAX: usize = 8;

/// Segments with up to this many bytes of live documents are the lowest level: merging eight of them takes about ten
/// milliseconds.
const SMALL_BYTES_MAX: u64 = 64 * 1024;

/// Segments with more live documents are never merged: the merge would take too much memory and time for its small
/// gain.
const MERGED_DOCUMENTS_MAX: u64 = 10_000_000;

/// A segment above the lowest level is rewritten if a greater share of its documents is deleted.
const DELETED_SHARE_MAX: f64 = 1.0 / 3.0;

/// Returns the indexes of the segments to merge into one; `None` if there is nothing to merge.
///
/// Segments have levels; those of a level are eight times as large as those of the level below. When a level has eight
/// segments, they and all smaller segments are merged. So a document is rewritten about once per level, and a level has
/// at most seven segments.
pub fn choose(segments: &[Weight], effort: Effort) -> Option<Vec<usize>> {
    let top = match effort {
        Effort::Compaction => {
            let chosen: Vec<usize> =
                (0..segments.len()).filter(|&at| segments[at].live <= MERGED_DOCUMENTS_MAX).collect();
            let is_whole = |&at: &usize| segments[at].live == segments[at].documents;
            return (chosen.len() > 1 || !chosen.iter().all(is_whole)).then_some(chosen);
        }
        Effort::Small => 0,
        Effort::Any => segments.iter().map(level).max()?,
    };
    for wanted in 0..=top {
        let fits = |weight: &&Weight| level(weight) == wanted && weight.live <= MERGED_DOCUMENTS_MAX;
        if segments.iter().filter(fits).count() >= LEVEL_SEGMENTS_MAX {
            let up_to = |weight: &Weight| level(weight) <= wanted && weight.live <= MERGED_DOCUMENTS_MAX;
            return Some((0..segments.len()).filter(|&at| up_to(&segments[at])).collect());
        }
    }
    let wasteful = |weight: &Weight| {
        let deleted = weight.documents - weight.live;
        weight.bytes > SMALL_BYTES_MAX && deleted as f64 > weight.documents as f64 * DELETED_SHARE_MAX
    };
    if effort == Effort::Small { None } else { segments.iter().position(wasteful).map(|at| vec![at]) }
}

fn level(weight: &Weight) -> u32 {
    let bytes = weight.bytes * weight.live / weight.documents.max(1);
    if bytes <= SMALL_BYTES_MAX { 0 } else { 1 + (bytes / SMALL_BYTES_MAX).ilog(LEVEL_SEGMENTS_MAX as u64) }
}

/// Writes the live documents of `segments` as one segment, ordered by the lowest docid of each segment. Returns `None`
/// if there are none.
pub fn merge(layout: &Layout, segments: &[&SegmentView], spill: Option<Spill>) -> Result<Option<NewSegment>> {
    let mut segments: Vec<&SegmentView> =
        segments.iter().copied().filter(|segment| !segment.live.is_empty()).collect();
    segments.sort_by_key(|segment| segment.live.min());
    if segments.is_empty() {
        return Ok(None);
    }
    let files = SegmentFiles::new(spill);
    let sources: Vec<Segment> = segments.iter().map(|segment| segment.core.segment.clone()).collect();
    let alive = segments.iter().map(|segment| alive_of(segment)).collect::<Result<_>>()?;
    let merged = merge_filtered_segments(&sources, layout.settings(), alive, files.clone())?;
    let metas = merged.searchable_segment_metas()?;
    let segment = metas.first().map(|meta| NewSegment {
        layout: layout.clone(),
        id: meta.id().uuid_string(),
        documents: meta.max_doc(),
        files,
    });
    Ok(segment)
}

fn alive_of(segment: &SegmentView) -> Result<Option<AliveBitSet>> {
    if !segment.has_deletes() {
        return Ok(None);
    }
    let mut alive = BitSet::with_max_value(segment.reader.max_doc());
    for (doc, docid) in (0..).zip(segment.docids.iter()) {
        if *docid != DELETED {
            alive.insert(doc);
        }
    }
    let mut bytes = Vec::new();
    write_alive_bitset(&alive, &mut bytes)?;
    Ok(Some(AliveBitSet::open(OwnedBytes::new(bytes))))
}

/// Returns the weights of segments, in their order.
pub fn weights(segments: &[SegmentView]) -> Vec<Weight> {
    let weigh = |segment: &SegmentView| {
        let files = segment.core.files.list();
        let bytes = files.iter().map(|(_, file)| tantivy::HasLen::len(&file.bytes) as u64).sum();
        Weight { live: segment.live.len(), documents: u64::from(segment.core.entry.documents), bytes }
    };
    segments.iter().map(weigh).collect()
}

/// Replaces the segments at the indexes `replaced` by the merged one, at the first of these indexes. Returns that
/// index; `None` if `merged` is `None`.
pub fn replace(
    segments: &mut Vec<SegmentView>,
    replaced: &[usize],
    merged: Option<NewSegment>,
) -> Result<Option<usize>> {
    let mut at = 0..;
    segments.retain(|_| !replaced.contains(&at.next().expect("it has no end")));
    let Some(merged) = merged else { return Ok(None) };
    let first = replaced.iter().copied().min().unwrap_or(0);
    segments.insert(first, SegmentView::of(merged)?);
    Ok(Some(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(bytes: u64) -> Weight {
        let documents = bytes / 100 + 1;
        Weight { live: documents, documents, bytes }
    }

    #[test]
    fn eight_segments_of_a_level_and_all_smaller_ones_are_merged() {
        let large = 100 * SMALL_BYTES_MAX;
        let mut segments = vec![weight(large), weight(10)];
        segments.extend([weight(2 * large); 6]);
        assert_eq!(choose(&segments, Effort::Any), None);
        segments.push(weight(large));
        assert_eq!(choose(&segments, Effort::Any), Some((0..9).collect()));
        assert_eq!(choose(&segments, Effort::Small), None);
    }

    #[test]
    fn small_segments_are_on_one_level() {
        let segments: Vec<Weight> = (0..8).map(|at| weight(1 << (2 * at))).collect();
        assert_eq!(choose(&segments, Effort::Small), Some((0..8).collect()));
        assert_eq!(choose(&segments[1..], Effort::Small), None);
    }

    #[test]
    fn a_segment_with_many_deleted_documents_is_rewritten() {
        let half = Weight { live: 50, documents: 100, bytes: 10 * SMALL_BYTES_MAX };
        let whole = Weight { live: 100, ..half };
        assert_eq!(choose(&[whole, half], Effort::Any), Some(vec![1]));
        assert_eq!(choose(&[whole, half], Effort::Small), None);
        assert_eq!(choose(&[whole, whole], Effort::Any), None);
        assert_eq!(choose(&[Weight { bytes: 10, ..half }], Effort::Any), None);
    }

    #[test]
    fn a_compaction_merges_all_unless_one_segment_without_deletes_is_left() {
        let whole = Weight { live: 100, documents: 100, bytes: 10 };
        let half = Weight { live: 50, ..whole };
        let huge = Weight { live: 2 * MERGED_DOCUMENTS_MAX, documents: 3 * MERGED_DOCUMENTS_MAX, bytes: 10 };
        assert_eq!(choose(&[], Effort::Compaction), None);
        assert_eq!(choose(&[whole], Effort::Compaction), None);
        assert_eq!(choose(&[half], Effort::Compaction), Some(vec![0]));
        assert_eq!(choose(&[whole, whole], Effort::Compaction), Some(vec![0, 1]));
        assert_eq!(choose(&[huge, whole], Effort::Compaction), None);
    }

    #[test]
    fn a_document_is_rewritten_once_per_level() {
        let (mut segments, mut written) = (Vec::new(), 0);
        for _ in 0..100_000 {
            segments.push(weight(2_000));
            while let Some(chosen) = choose(&segments, Effort::Any) {
                let bytes = chosen.iter().map(|&at| segments[at].bytes).sum();
                let mut at = 0..;
                segments.retain(|_| !chosen.contains(&at.next().expect("it has no end")));
                segments.push(weight(bytes));
                written += bytes;
            }
            assert!(segments.len() < 40);
        }
        // The lowest level takes all small segments, so documents are rewritten five times on average.
        assert!(written < 100_000 * 2_000 * 12, "{}", written / (100_000 * 2_000));
    }
}
