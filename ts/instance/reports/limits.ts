/** Milliseconds between two reports. Source: the service's telemetry rules. */
export const REPORT_MS = 3_600_000

/** Bytes of one batch, and of counted events that trigger an early report. Source: the service's telemetry rules. */
export const BATCH_BYTES_MAX = 500_000

/** Milliseconds between two checks of the counted events. */
export const LOOK_MS = 60_000

/** Milliseconds that shutdown waits for the last report. */
export const LAST_REPORT_MS_MAX = 1_000

/** Timeout of the collector for one batch, in milliseconds. */
export const SEND_MS_MAX = 30_000
