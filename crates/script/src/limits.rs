//! Limits on scripts.

/// Bytes of a script.
pub const SCRIPT_BYTES_MAX: usize = 100_000;

/// Steps of the interpreter per document.
pub const STEPS_MAX: u64 = 1_000_000;

/// Milliseconds per document. A native function can take as much time as many steps, so a limit on steps is not enough.
pub const DOCUMENT_MS_MAX: u64 = 10_000;

/// Steps between two checks of the clock. The longest single step, a function on a string of [`STRING_BYTES_MAX`],
/// takes about 20 ms.
pub const STEPS_PER_CHECK: u64 = 32;

/// Depth of nested function calls.
pub const CALLS_MAX: usize = 32;

/// Depth of nested expressions, outside of functions and inside.
pub const EXPRESSION_DEPTHS_MAX: (usize, usize) = (64, 32);

/// Functions of a script.
pub const FUNCTIONS_MAX: usize = 100;

/// Variables at the same time.
pub const VARIABLES_MAX: usize = 1_000;

/// Total bytes of the strings in a value.
pub const STRING_BYTES_MAX: usize = 10_000_000;

/// Elements of an array or object, including nested ones.
pub const ELEMENTS_MAX: usize = 1_000_000;

/// Bytes of all values of a script at the same time, including the document: six times the largest string, or four
/// arrays of maximum size. A single step may exceed this by the largest value it can make; the next step fails then.
pub const MEMORY_BYTES_MAX: usize = 64 << 20;

/// Commas, brackets and braces in JSON text that a script parses: each becomes an expression of the interpreter of
/// about 100 bytes.
pub const JSON_MARKS_MAX: usize = 100_000;

/// Stack of the thread that runs a script. The interpreter recurses into nested values without a depth check;
/// [`NESTING_STACK_BYTES_MAX`] keeps far away from the end of this stack.
pub const STACK_BYTES: usize = 128 << 20;

/// Stack that a step may use before the script counts as nested too deeply: about 1,000 levels of a value.
pub const NESTING_STACK_BYTES_MAX: usize = 256 << 10;

/// Levels of a value that is moved out of an array or object.
pub const MOVED_DEPTH_MAX: usize = 500;

/// Bytes that may stay allocated after a document. The interpreter's caches take less.
pub const LEFT_BEHIND_BYTES_MAX: usize = 1 << 20;

/// Bytes that all scripts of a process may leave allocated, in reference cycles.
pub const LEFT_BEHIND_IN_ALL_BYTES_MAX: usize = 256 << 20;

/// Nesting levels of an edited document.
pub const DEPTH_MAX: usize = 128;

/// Bytes of names and strings in an edited document: scripts share strings, JSON does not.
pub const DOCUMENT_BYTES_MAX: usize = 10_000_000;

/// A page ends early once its edited documents have this many bytes.
pub const PAGE_BYTES_MAX: usize = 32 << 20;
