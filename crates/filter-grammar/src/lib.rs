//! Parses filter expressions into syntax trees.
//!
//! ```text
//! filter     = [ any ]
//! any        = all { "OR" all }
//! all        = not { "AND" not }
//! not        = "NOT" not | primary
//! primary    = "(" any ")" | geo | foreign | element | condition
//! condition  = text ( "=" | "!=" | ">" | ">=" | "<" | "<=" ) text
//!            | text text "TO" text
//!            | text [ "NOT" ] "IN" "[" [ text { "," text } [ "," ] ] "]"
//!            | text "IS" [ "NOT" ] ( "NULL" | "EMPTY" )
//!            | text [ "NOT" ] ( "EXISTS" | "CONTAINS" text | "STARTS" "WITH" text )
//! geo        = "_geoRadius" "(" number "," number "," number [ "," number ] ")"
//!            | "_geoBoundingBox" "(" point "," point ")"
//!            | "_geoPolygon" "(" point "," point "," point { "," point } ")"
//! point      = "[" number "," number "]"
//! foreign    = "_foreign" "(" text "," any ")"
//! element    = "_element" "(" text "," any ")", of conditions on fields alone
//! text       = word | "'" { character | escape } "'" | '"' { character | escape } '"'
//! word       = one or more Unicode letters or digits, "_", "-", "."
//! escape     = "\'" | '\"' | "\\" | "\n" | "\t" | "\r" | "\x" 2 hex | "\u{" 1 to 6 hex "}"
//! ```
//!
//! Keywords are upper-case, complete words; to use a keyword as a text, quote it. Whitespace is allowed between any two
//! symbols. Parsing takes time linear in the text. Nesting is limited (see [`DEPTH_MAX`]), and so is the number of
//! texts (see [`TEXTS_MAX`]).
//!
//! Source: the filter expressions of the Meilisearch API; `_element` is our own.

mod error;
mod limits;
mod parse;
mod text;
mod tree;

pub use error::{Error, ErrorKind};
pub use limits::{DEPTH_MAX, TEXTS_MAX};
pub use parse::{parse, parse_within};
pub use tree::{Circle, Filter, Number, Operator, Point, Rectangle, Reference, Spanned, Text};
