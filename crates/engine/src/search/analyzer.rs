use std::sync::Arc;

use crate::analysis::Analyzer;
use crate::cache::cached;
use crate::error::Result;
use crate::store::Snapshot;

cached! {
    Analyzers: () => Analyzer, |_, analyzer| analyzer.bytes();
}

/// Returns the analyzer of a commit's settings, cached.
pub(super) fn analyzer(snapshot: &Snapshot) -> Result<Arc<Analyzer>> {
    if let Some(analyzer) = snapshot.cache().get::<Analyzers>(&()) {
        return Ok(analyzer);
    }
    let made = Arc::new(Analyzer::new(snapshot.settings())?.cutting_with(snapshot.dictionaries()));
    snapshot.cache().insert::<Analyzers>((), &made);
    Ok(made)
}
