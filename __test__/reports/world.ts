import type { ExecutionContext } from 'ava'
import { parseLaunchOptions } from '../../ts/launch/index.js'
import { deliverTo, openReporter, type Reporter, traitsOf } from '../../ts/reports/index.js'
import { openLogWithOutlets, openUsage } from '../../ts/telemetry/index.js'
import { startServer, type TestServer } from '../support/server.js'

export const instanceUid = '5e0a3f0c-6f3b-4f5e-9b52-0d5f6f0f7c11'

/** A server whose use is reported to `url`. */
export async function reportedServer(
  t: ExecutionContext,
  url: string,
  args: readonly string[] = [],
): Promise<{ readonly server: TestServer; readonly reporter: Reporter }> {
  const usage = openUsage()
  const server = await startServer(t, { usage })
  const run = parseLaunchOptions({
    args,
    env: { SVC_SERVER_PROVIDER: 'some-cloud' },
    readFile: () => null,
    machine: { memoryBytes: 8e9, cores: 4 },
  })
  if (run.kind !== 'run') throw new Error('these are options to run with')
  const { log } = openLogWithOutlets({ level: 'OFF', mode: 'JSON' })
  const collector = deliverTo(url)
  const reporter = openReporter({
    sender: { instanceUid, version: '9.8.7' },
    usage,
    traits: () => traitsOf({ ...server.parts, run }, Date.now()),
    isFirstStart: true,
    deliver: collector.deliver,
    log,
  })
  t.teardown(async () => {
    reporter.close()
    await collector.close()
  })
  return { server, reporter }
}
