//! Filter text → syntax tree.
