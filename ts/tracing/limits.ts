/** Ended spans that wait to be sent. Further ones are dropped. A span takes about 1 kB. */
export const QUEUED_SPANS_MAX = 4096
/** Spans of one request to the collector. The collector's own default is 512. */
export const SENT_SPANS_MAX = 512
/** Milliseconds between two requests to the collector. */
export const SEND_INTERVAL_MS = 1000
/** Milliseconds of one request to the collector. */
export const SEND_MS_MAX = 10_000
/** Milliseconds that a shutdown waits for the last spans. */
export const LAST_SEND_MS_MAX = 1000
/** Characters of a text in a span. */
export const TEXT_CHARS_MAX = 1000
