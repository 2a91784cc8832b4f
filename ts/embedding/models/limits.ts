/** Bytes of a configuration file of a model. The addon has the same limit. */
export const CONFIG_BYTES_MAX = 1024 * 1024
/** Bytes of `tokenizer.json`. Vocabularies of a hundred languages take 17 MB. */
export const TOKENIZER_BYTES_MAX = 64 * 1024 * 1024
/** Bytes of `model.safetensors`. The largest models of the BERT family have 2.3 GB. */
export const WEIGHTS_BYTES_MAX = 4 * 1024 ** 3
/** Bytes of free disk space that a download leaves. */
export const DISK_RESERVE_BYTES = 256 * 1024 * 1024

/** Milliseconds until the hub begins to answer, and between two chunks of its answer. */
export const HUB_IDLE_MS = 60_000
/** Attempts per file. Each continues where the one before ended. */
export const DOWNLOAD_ATTEMPTS_MAX = 6
/** First and longest pause between attempts, in milliseconds. */
export const DOWNLOAD_PAUSE_MS = { first: 500, longest: 10_000 }
/** Milliseconds between two progress lines of a download. */
export const PROGRESS_MS = 5000

/** Milliseconds between two heartbeats of a downloading process, and between two polls of a waiting process. */
export const LOCK_BEAT_MS = 2_000
export const LOCK_POLL_MS = 250
/** Milliseconds without a heartbeat after which another process takes over a download. */
export const LOCK_STALE_MS = 30_000

/** Models that are kept in memory. The least recently used is unloaded. */
export const LOADED_MODELS_MAX = 4

/** Rankings that may wait for others. Further ones are refused: they would hardly end in time, and hold documents. */
export const RANKINGS_WAITING_MAX = 32
