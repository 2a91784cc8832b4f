/** Bytes of a file of settings of a model. The addon reads no more either. */
export const CONFIG_BYTES_MAX = 1024 * 1024
/** Bytes of `tokenizer.json`. Vocabularies of a hundred languages take 17 MB. */
export const TOKENIZER_BYTES_MAX = 64 * 1024 * 1024
/** Bytes of `model.safetensors`. The largest models of the BERT family have 2.3 GB. */
export const WEIGHTS_BYTES_MAX = 4 * 1024 ** 3
/** Bytes of the disk that a download leaves free. */
export const DISK_RESERVE_BYTES = 256 * 1024 * 1024

/** Milliseconds until the hub has begun to answer, and between two chunks of its answer. */
export const HUB_IDLE_MS = 60_000
/** Attempts for one file. Each goes on where the one before was cut. */
export const DOWNLOAD_ATTEMPTS_MAX = 6
/** Milliseconds of the first and of the longest pause between attempts. */
export const DOWNLOAD_PAUSE_MS = { first: 500, longest: 10_000 }
/** Milliseconds between two lines about the progress of a download. */
export const PROGRESS_MS = 5000

/** Milliseconds between two signs of life of a process that downloads, and between two looks of one that waits for it. */
export const LOCK_BEAT_MS = 2_000
export const LOCK_POLL_MS = 250
/** Milliseconds without a sign of life after which another process goes on with a download. */
export const LOCK_STALE_MS = 30_000

/** Models that are kept in memory. Those that were used longest ago make room. */
export const LOADED_MODELS_MAX = 4
