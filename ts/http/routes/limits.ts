/**
 * Pairs of one request to swap indexes. Each pair renames the index in all older tasks that name it, of which older swaps
 * are rewritten as a whole, so that the work grows with the product of both lengths.
 */
export const SWAPS_MAX = 1_000

/** Instances in a network, and those of one shard: a search over the network calls each. */
export const REMOTES_MAX = 1_000

/** Shards of a network. Each change of the network goes through all of them. */
export const SHARDS_MAX = 10_000

/** Patterns that say which indexes are exported. Each index is compared with each pattern until one fits. */
export const EXPORT_PATTERNS_MAX = 10_000
