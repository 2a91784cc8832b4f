//! Writes JSON into the bytes of an answer.

use std::io::Write as _;

/// Writes a string as JSON.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("memory takes every byte");
}

/// Writes a value as JSON.
pub(super) fn write_json(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("memory takes every byte, and keys are strings");
}

/// Writes a value in its `Display` form.
pub(super) fn write_display(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    write!(out, "{value}").expect("memory takes every byte");
}

/// Writes the names of an object's members, with commas between members.
pub(super) struct Members {
    /// True while the object has no member.
    pub first: bool,
}

impl Members {
    pub fn begin(&mut self, name: &str, out: &mut Vec<u8>) {
        if !self.first {
            out.push(b',');
        }
        self.first = false;
        write_text(name, out);
        out.push(b':');
    }
}
