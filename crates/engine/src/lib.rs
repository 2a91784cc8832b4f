//! The search engine: documents in, ranked hits out. Knows nothing of Node or HTTP.
