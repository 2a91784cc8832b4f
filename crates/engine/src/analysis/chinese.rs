//! The Chinese dictionary. charabia loads it for the first Chinese text, which takes 140 ms and 52 MB.

use std::sync::atomic::{AtomicBool, Ordering};

use charabia::{Language, Script, Segment as _};

/// True once this process has loaded the dictionary.
static READ: AtomicBool = AtomicBool::new(false);

/// Records that the dictionary is loaded, if `segment` is Chinese.
pub(super) fn note(segment: &charabia::Token<'_>) {
    if segment.script == Script::Cj && matches!(segment.language, Some(Language::Cmn | Language::Zho)) {
        READ.store(true, Ordering::Relaxed);
    }
}

/// Returns true if the dictionary is loaded.
pub fn is_chinese_read() -> bool {
    READ.load(Ordering::Relaxed)
}

/// Loads the dictionary before the first Chinese text.
pub fn read_chinese() {
    "中文".segment().for_each(|segment| note(&segment));
}
