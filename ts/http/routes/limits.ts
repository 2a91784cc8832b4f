/** Instances in a network, and in one shard of it. A search over the network calls each. */
export const REMOTES_MAX = 1_000

/** Shards of a network. Each change of the network reads all of them. */
export const SHARDS_MAX = 10_000
