/** Attempts of one call to a remote. Source: the API's three retries. */
export const REMOTE_ATTEMPTS_MAX = 4

/** Longest pause between attempts: a search is waiting. Source: as above. */
export const REMOTE_PAUSE_MS_MAX = 100

/** Characters of a failed answer that an error quotes. */
export const QUOTED_CHARS_MAX = 500
