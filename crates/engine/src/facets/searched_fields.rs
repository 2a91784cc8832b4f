//! The fields of an index that searches have used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// How searches use a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FieldUse {
    /// They find words in it. The path is [`EVERY`].
    Search,
    /// They sort by its values, or by the distance of `_geo`.
    Sort,
    /// They count its values.
    Count,
    /// They return one document per value.
    Distinct,
}

/// Paths of fields by use.
pub type FieldUses = BTreeMap<FieldUse, BTreeSet<String>>;

/// Stands for all searchable fields, as in the settings.
pub const EVERY: &str = "*";

/// The field of points.
pub(super) const POINT: &str = "_geo";

/// Paths that are kept per use. Searches may count the values of any number of fields.
const PATHS_MAX: usize = 64;

/// Longer paths, in bytes, are not kept.
const PATH_BYTES_MAX: usize = 256;

/// The fields of an index that searches have used, in this process or, as far as recorded, in earlier ones. All commits
/// of the index share it. Columns of these fields are prepared by [`super::warm_up`].
#[derive(Default)]
pub struct SearchedFields(Mutex<FieldUses>);

impl SearchedFields {
    fn uses(&self) -> MutexGuard<'_, FieldUses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a search uses a field.
    pub fn note(&self, used: FieldUse, path: &str) {
        let mut uses = self.uses();
        if !uses.get(&used).is_some_and(|paths| paths.contains(path)) {
            add(&mut uses, used, path);
        }
    }

    /// Adds uses of earlier processes.
    pub fn extend(&self, earlier: &FieldUses) {
        let mut uses = self.uses();
        for (used, paths) in earlier {
            paths.iter().for_each(|path| add(&mut uses, *used, path));
        }
    }

    /// Drops the paths that are not `wanted`.
    pub fn retain(&self, wanted: impl Fn(&str) -> bool) {
        self.uses().retain(|_, paths| {
            paths.retain(|path| wanted(path));
            !paths.is_empty()
        });
    }

    /// Returns a copy.
    pub fn all(&self) -> FieldUses {
        self.uses().clone()
    }
}

fn add(uses: &mut FieldUses, used: FieldUse, path: &str) {
    let paths = uses.entry(used).or_default();
    if paths.len() < PATHS_MAX && path.len() <= PATH_BYTES_MAX {
        paths.insert(path.to_owned());
    }
}
