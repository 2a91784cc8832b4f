/** Milliseconds between two reports. Source: the service's telemetry rules. */
export const REPORT_MS = 3_600_000

/** Bytes of one batch, and of what is counted before a report is sent early. Source: the service's telemetry rules. */
export const BATCH_BYTES_MAX = 500_000

/** Milliseconds between two looks at how much has been counted. */
export const LOOK_MS = 60_000

/** Milliseconds that the end of the process waits for the last report. */
export const LAST_REPORT_MS_MAX = 1_000

/** Milliseconds that the collector may take for one batch. */
export const SEND_MS_MAX = 30_000
