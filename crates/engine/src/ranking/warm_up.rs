//! Computes values of a commit before the first search needs them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::facets;
use crate::postings::{Budget, OVERDRAFT, Postings};
use crate::settings::Settings;
use crate::store::Snapshot;

/// Returns true if [`warm_up`] has something to compute.
pub fn wants_warm_up(settings: &Settings) -> bool {
    uses_lengths(settings) || facets::wants_warm_up(settings)
}

fn uses_lengths(settings: &Settings) -> bool {
    settings.ranking_rules.iter().any(|rule| rule == "relevance")
}

/// Computes the lengths of attributes for the rule `relevance` and the tables of [`facets::warm_up`], until `stop` is
/// set. The lengths of a segment with a million titles take 0.3 s.
///
/// # Errors
/// See [`Postings::lengths`] and [`facets::warm_up`].
pub fn warm_up(snapshot: &Snapshot, stop: Arc<AtomicBool>) -> Result<()> {
    facets::warm_up(snapshot, &stop)?;
    if !uses_lengths(snapshot.settings()) {
        return Ok(());
    }
    let start = Instant::now();
    // A clock that stands still until it is to stop.
    let clock = move || if stop.load(Ordering::Relaxed) { start + DAY } else { start };
    let budget = Budget::by(start + DAY - OVERDRAFT, clock);
    Postings::open(snapshot, Arc::new(budget))?.lengths()?;
    Ok(())
}

const DAY: Duration = Duration::from_secs(86_400);
