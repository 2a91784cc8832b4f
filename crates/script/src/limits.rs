//! What a script may use.

/// Bytes of a script.
pub const SCRIPT_BYTES_MAX: usize = 100_000;

/// Steps of the interpreter per document.
pub const STEPS_MAX: u64 = 1_000_000;

/// Time per document, in milliseconds. A native function may take many steps' time in one step, so that steps alone
/// bound nothing.
pub const DOCUMENT_MS_MAX: u64 = 10_000;

/// Steps between two looks at the clock. The longest single step, a function over a string of [`STRING_BYTES_MAX`],
/// takes some 20 ms.
pub const STEPS_PER_LOOK: u64 = 32;

/// Functions calling functions.
pub const CALLS_MAX: usize = 32;

/// Nested expressions, outside of functions and inside.
pub const EXPRESSION_DEPTHS_MAX: (usize, usize) = (64, 32);

/// Functions of a script.
pub const FUNCTIONS_MAX: usize = 100;

/// Variables at a time.
pub const VARIABLES_MAX: usize = 1_000;

/// Bytes of all strings of one value.
pub const STRING_BYTES_MAX: usize = 10_000_000;

/// Elements of one array or object, those nested in it included.
pub const ELEMENTS_MAX: usize = 1_000_000;

/// Bytes of all values of a script at a time, the document included: six times the largest string, or four arrays of
/// the most elements. A single step may go beyond by the largest value it can make, before the next one fails.
pub const MEMORY_BYTES_MAX: usize = 64 << 20;

/// Commas, brackets and braces in a text of JSON that a script reads: each becomes an expression of the interpreter,
/// of some 100 bytes.
pub const JSON_MARKS_MAX: usize = 100_000;

/// Stack of the thread that runs a script. The interpreter goes down into nested values without looking how deep they
/// are: this is what [`NESTING_STACK_BYTES_MAX`] stays far away from.
pub const STACK_BYTES: usize = 128 << 20;

/// Stack that one step may use before its script counts as nested too deeply: some 1,000 levels of a value.
pub const NESTING_STACK_BYTES_MAX: usize = 256 << 10;

/// Levels of a value that is moved out of an array or object.
pub const MOVED_DEPTH_MAX: usize = 500;

/// Bytes that a document's run may leave behind: the interpreter's own caches take less.
pub const LEFT_BEHIND_BYTES_MAX: usize = 1 << 20;

/// Bytes that all scripts of a process may leave behind, in values that hold themselves and are never freed.
pub const LEFT_BEHIND_IN_ALL_BYTES_MAX: usize = 256 << 20;

/// Levels of an edited document.
pub const DEPTH_MAX: usize = 128;

/// Bytes of names and strings of an edited document: strings are shared inside a script, but not in JSON.
pub const DOCUMENT_BYTES_MAX: usize = 10_000_000;

/// Bytes of edited documents from which on a page ends before its last document.
pub const PAGE_BYTES_MAX: usize = 32 << 20;
