import { type Deliver, deliverTo, openReporter, type ReportedInstance, traitsOf } from '../instance/index.js'
import type { LaunchOptions } from '../launch/index.js'
import { closedUsage, type Logger, openUsage, type Usage } from '../telemetry/index.js'

type TelemetryOptions = Pick<LaunchOptions, 'noAnalytics' | 'telemetryPreview' | 'telemetryUrl'>

/** Facts of a started instance for telemetry. */
interface Reported {
  readonly instance: ReportedInstance
  readonly instanceUid: string
  readonly isFirstStart: boolean
  readonly version: string
  readonly log: Logger
}

/** Telemetry according to the options. */
export interface Telemetry {
  /** Text of the start screen: telemetry state, and its receiver. */
  readonly shown: string
  /** Counts nothing if telemetry is disabled. */
  readonly usage: Usage
  /** Starts reporting. Returns a function that ends it. */
  start(reported: Reported): Promise<() => Promise<void>>
}

/**
 * Figures are sent only to a configured collector. A preview prints them instead. Without collector and preview nothing
 * is counted.
 */
export function telemetryOf(options: TelemetryOptions): Telemetry {
  const { noAnalytics, telemetryPreview, telemetryUrl } = options
  if (noAnalytics) return disabled('--no-analytics')
  if (telemetryPreview) {
    const usage = openUsage()
    return {
      shown: 'Disabled (--telemetry-preview: batches are printed, not sent)',
      usage,
      async start(reported) {
        const reporter = reporterOf(reported, usage, print)
        await reporter.report()
        return () => reporter.close()
      },
    }
  }
  if (telemetryUrl === null) return disabled('no --telemetry-url')
  const usage = openUsage()
  return {
    // Shows only the origin, since the URL may contain a key.
    shown: `Enabled (every hour to ${new URL(telemetryUrl).origin})`,
    usage,
    async start(reported) {
      const collector = deliverTo(telemetryUrl)
      const reporter = reporterOf(reported, usage, collector.deliver)
      // The start does not wait for the collector.
      if (reported.isFirstStart) void reporter.report()
      return async () => {
        await reporter.close()
        await collector.close()
      }
    },
  }
}

const disabled = (why: string): Telemetry => ({
  shown: `Disabled (${why})`,
  usage: closedUsage,
  start: async () => async () => undefined,
})

function reporterOf(
  { instance, instanceUid, isFirstStart, version, log }: Reported,
  usage: Usage,
  deliver: Deliver,
) {
  const startedAt = Date.now()
  return openReporter({
    sender: { instanceUid, version },
    usage,
    traits: () => traitsOf(instance, startedAt),
    isFirstStart,
    deliver,
    log,
  })
}

/** Writes a batch to standard output. */
const print: Deliver = (batch) =>
  new Promise((resolve) => {
    process.stdout.write(`${batch}\n`, () => resolve())
  })
