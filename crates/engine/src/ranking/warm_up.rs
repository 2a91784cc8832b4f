//! Computes values of a commit before the first search needs them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::rank::rank;
use super::request::{Deadline, RankRequest};
use crate::analysis::Analyzer;
use crate::error::Result;
use crate::facets::{EVERY, FieldUse, SearchedFields};
use crate::postings::Postings;
use crate::settings::Settings;
use crate::store::{SegmentView, Snapshot};

/// Words, letters and pairs of letters that are ranked, at most of each.
const TEXTS_MAX: usize = 16;

/// Texts with fewer postings are read fast.
const POSTINGS_MIN: u64 = 10_000;

/// The values of these texts take at most about this part of the cache.
const CACHE_PART: usize = 4;

/// Hits of a page.
const PAGE: usize = 20;

/// Returns true if [`warm_up_lengths`] has something to compute.
pub fn uses_lengths(settings: &Settings) -> bool {
    settings.ranking_rules.iter().any(|rule| rule == "relevance")
}

/// Computes the lengths of attributes for the rule `relevance`. The lengths of a segment with a million titles take 0.3 s.
///
/// # Errors
/// See [`Postings::lengths`].
pub fn warm_up_lengths(snapshot: &Snapshot, deadline: &Deadline) -> Result<()> {
    Postings::open(snapshot, Arc::new(deadline.budget()))?.lengths()?;
    Ok(())
}

/// Set on the largest segment of a commit once its frequent words were ranked.
#[derive(Default)]
struct WordsRanked(AtomicBool);

/// Returns true if searches have looked for words and [`warm_up_words`] has not read the largest segment yet.
pub fn wants_words(snapshot: &Snapshot) -> bool {
    let uses = snapshot.attachments().get::<SearchedFields>().all();
    let is_searched = uses.get(&FieldUse::Search).is_some_and(|paths| paths.contains(EVERY));
    is_searched
        && largest(snapshot).is_some_and(|segment| {
            u64::from(segment.reader.max_doc()) >= POSTINGS_MIN
                && !segment.attachments().get::<WordsRanked>().0.load(Ordering::Relaxed)
        })
}

/// Ranks the words and short prefixes with the most postings, so that the cache holds their documents and positions.
///
/// # Errors
/// Internal if postings cannot be read.
pub fn warm_up_words(snapshot: &Snapshot, analyzer: &Analyzer, deadline: &Deadline) -> Result<()> {
    let postings = Postings::open(snapshot, Arc::new(deadline.budget()))?;
    let cache = snapshot.cache().cache();
    let bytes_max = cache.figures().bytes() + cache.bytes_max() / CACHE_PART;
    for text in postings.frequent(TEXTS_MAX, POSTINGS_MIN)? {
        if deadline.is_over() {
            return Ok(());
        }
        if cache.figures().bytes() > bytes_max {
            break;
        }
        let request = RankRequest {
            q: Some(&text),
            universe: snapshot.shared_documents(),
            strategy: snapshot.settings().matching_strategy,
            search_on: None,
            locales: None,
            sort: &[],
            distinct: None,
            threshold: None,
            wanted: PAGE,
            exhaustive: false,
            vector: None,
            only_by_vector: false,
            deadline: deadline.clone(),
            scored: false,
        };
        rank(snapshot, analyzer, &request)?;
    }
    if let Some(segment) = largest(snapshot) {
        segment.attachments().get::<WordsRanked>().0.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn largest(snapshot: &Snapshot) -> Option<&SegmentView> {
    snapshot.segments().iter().max_by_key(|segment| segment.reader.max_doc())
}
