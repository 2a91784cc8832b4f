/** How much of a request do both engines look at? `crates/engine` has the same figure. */

/**
 * Bytes of a query that are searched for. Only its first ten words or phrases count, and only among its first thousand
 * tokens: words of 60 letters each fit. Tokens of a longer text would be cut, normalised and thrown away.
 */
export const QUERY_BYTES_MAX = 65_536
