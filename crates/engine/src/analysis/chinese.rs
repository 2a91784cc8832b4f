//! The dictionary of Chinese: charabia reads it when the first text asks for it, which takes 140 ms and 52 MB.

use std::sync::atomic::{AtomicBool, Ordering};

use charabia::{Language, Script, Segment as _};

/// Whether this process has read it.
static READ: AtomicBool = AtomicBool::new(false);

/// Notes that a text was cut by it, if it was.
pub(super) fn note(segment: &charabia::Token<'_>) {
    if segment.script == Script::Cj && matches!(segment.language, Some(Language::Cmn | Language::Zho)) {
        READ.store(true, Ordering::Relaxed);
    }
}

/// Whether a text has asked for it.
pub fn is_chinese_read() -> bool {
    READ.load(Ordering::Relaxed)
}

/// Reads it ahead of the first text.
pub fn read_chinese() {
    "中文".segment().for_each(|segment| note(&segment));
}
