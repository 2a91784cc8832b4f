use std::sync::{Arc, OnceLock};

use crate::analysis::Analyzer;
use crate::error::Result;
use crate::store::Snapshot;

/// The analyzer of a commit's settings, made once per commit.
pub(super) fn analyzer(snapshot: &Snapshot) -> Result<Arc<Analyzer>> {
    #[derive(Default)]
    struct Cached(OnceLock<Arc<Analyzer>>);
    let cached = snapshot.attachments().get::<Cached>();
    if let Some(analyzer) = cached.0.get() {
        return Ok(Arc::clone(analyzer));
    }
    let made = Arc::new(Analyzer::new(snapshot.settings())?);
    Ok(Arc::clone(cached.0.get_or_init(|| made)))
}
