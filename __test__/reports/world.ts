import type { ExecutionContext } from 'ava'
import { type Deliver, openReporter, type Reporter, traitsOf } from '../../ts/instance/index.js'
import { parseLaunchOptions, type Run } from '../../ts/launch/index.js'
import { openLogWithOutlets, openUsage } from '../../ts/telemetry/index.js'
import { startServer, type TestServer, type TestServerOptions } from '../support/server.js'

export const instanceUid = '5e0a3f0c-6f3b-4f5e-9b52-0d5f6f0f7c11'

/** The sources of launch options. */
export interface Launched {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The text of the configuration file. Default: no file. */
  readonly file?: string
}

/** Parses these launch options. */
export function runOf({ args = [], env = {}, file }: Launched): Run {
  const run = parseLaunchOptions({
    args,
    env: { SVC_SERVER_PROVIDER: 'some-cloud', ...env },
    readFile: () => file ?? null,
    machine: { memoryBytes: 8e9, cores: 4 },
  })
  if (run.kind !== 'run') throw new Error('these options do not start a server')
  return run
}

export interface ReportedOptions extends TestServerOptions {
  readonly launched?: Launched
  /** Start of the instance, in milliseconds since 1970. */
  readonly startedAt?: number
}

/** Starts a server that reports its usage to `deliver`. */
export async function reportedServer(
  t: ExecutionContext,
  deliver: Deliver,
  { launched = {}, startedAt = Date.now(), ...options }: ReportedOptions = {},
): Promise<{ readonly server: TestServer; readonly reporter: Reporter }> {
  const usage = openUsage()
  const server = await startServer(t, { usage, ...options })
  const run = runOf(launched)
  const { log } = openLogWithOutlets({ level: 'OFF', mode: 'JSON' })
  const reporter = openReporter({
    sender: { instanceUid, version: '9.8.7' },
    usage,
    traits: () => traitsOf({ ...server.parts, run }, startedAt),
    isFirstStart: true,
    deliver,
    log,
  })
  t.teardown(() => reporter.close())
  return { server, reporter }
}
