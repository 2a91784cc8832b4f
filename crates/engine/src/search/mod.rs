//! Here is a request, give me the bytes of its answer.
//!
//! A request selects its documents (`filter`), has them put in order (`ranking`), and only the page that is
//! shown is read, cut to the attributes asked for and marked up. Answers are written as they are sent.

mod analyzer;
mod answer;
mod bounds;
mod compare;
mod documents;
mod facet;
mod federation;
mod format;
mod hybrid;
mod limits;
mod multi;
mod paging;
mod pins;
mod project;
mod request;
mod scan;
mod search_deadline;
mod search_request;
mod semantic;
mod similar;
mod sort;

pub use answer::{Answer, Facts};
pub use documents::{document, documents};
pub use facet::facet_search;
pub use federation::federated_search;
pub use multi::{IndexedSearch, multi_search};
pub use request::{
    DocumentRequest, DocumentsRequest, FacetSearchRequest, Paging, Pin, SearchRequest, SimilarRequest,
    Strategy, decode,
};
pub use search_deadline::SearchDeadline;
pub use search_request::run;
pub use similar::similar;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
pub(crate) mod tests;
