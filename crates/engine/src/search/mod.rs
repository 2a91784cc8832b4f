//! Answers search requests.
//!
//! The filter of a request selects documents (`filter`), which are ranked (`ranking`). Only the documents of the page
//! are read, projected to the requested attributes and highlighted. An answer is written as the JSON that is sent.

mod analyzer;
mod answer;
mod bounds;
mod compare;
mod documents;
mod explain;
mod facet_search;
mod facets;
mod federation;
mod format;
mod hits;
mod hybrid;
mod hydration;
mod interleave;
mod json_scanner;
mod json_writer;
mod limits;
mod multi;
mod paging;
mod pins;
mod projection;
mod ranked_search;
mod request;
mod scaling;
#[allow(clippy::module_inception, reason = "the fallback's file is called so, too")]
mod search;
mod search_deadline;
mod semantic;
mod similar;
mod sort_request;
mod stages;
mod warm_up;

pub use answer::{Answer, Facts};
pub use documents::{document, documents, write_whole};
pub use explain::explain;
pub use facet_search::facet_search;
pub use federation::federated_search;
pub use multi::{IndexedSearch, multi_search};
pub use request::{
    DocumentRequest, DocumentsRequest, ExplainRequest, FacetSearchRequest, Paging, Pin, Scale, SearchRequest,
    SimilarRequest, decode,
};
pub use search::run;
pub use search_deadline::SearchDeadline;
pub use similar::similar;
pub use warm_up::{wants_warm_up, warm_up};

#[cfg(test)]
mod cache_tests;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
pub(crate) mod tests;
