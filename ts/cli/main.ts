#!/usr/bin/env node
import { readFileSync, writeSync } from 'node:fs'
import { machine, packageVersion, userDirectory } from '../instance/index.js'
import { LaunchError, parseLaunchOptions } from '../settings/index.js'
import { type Logger, openLogWithOutlets, surviveLostOutput } from '../telemetry/index.js'
import { lastLineOf } from './last-line.js'
import { serve } from './serve.js'

const version = packageVersion()

surviveLostOutput()
try {
  await main()
} catch (error) {
  writeLastLine(`${lastLineOf(error)}\n`)
  process.exit(error instanceof LaunchError ? error.exitCode : 1)
}

async function main(): Promise<void> {
  const launch = parseLaunchOptions({
    args: process.argv.slice(2),
    env: process.env,
    readFile: textOf,
    machine: machine(),
  })
  if (launch.kind === 'help') return void process.stdout.write(launch.text)
  if (launch.kind === 'version') return void process.stdout.write(`siftd ${version}\n`)
  const { options, configFile } = launch
  const { log, outlets, console } = openLogWithOutlets({
    level: options.logLevel,
    mode: options.experimentalLogsMode,
  })
  // Runs however the process ends, an exception nothing catches included.
  process.once('exit', () => console?.writeNow())
  // Listening before anything is open: a signal during a long start must not be lost.
  const stop = stopOnSignals(log)
  const serving = await serve({
    options,
    configFile,
    machine: machine(),
    version,
    userDirectory: userDirectory(process.env),
    log,
    outlets,
    signal: stop.signal,
  }).catch((error: unknown) => {
    if (error !== stop.signal.reason) throw error
    return null
  })
  if (serving !== null) {
    console?.write(`${serving.screen}\n`)
    await stop.asked
    await serving.stop()
  }
  log.info('stopped')
  await console?.end()
  process.exit(0)
}

/**
 * Signals this soon after the first one are the same request: a terminal sends one to the whole process group, and
 * npm passes its own on.
 */
const SAME_REQUEST_MS = 1_000

/** Aborts with the first request to stop; a second one ends the process at once. */
function stopOnSignals(log: Logger): { readonly signal: AbortSignal; readonly asked: Promise<void> } {
  const stop = new AbortController()
  let askedAt = 0
  const asked = new Promise<void>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        if (!stop.signal.aborted) {
          askedAt = performance.now()
          log.info({ signal: name }, 'stopping')
          stop.abort()
          resolve()
        } else if (performance.now() - askedAt > SAME_REQUEST_MS) process.exit(130)
      })
    }
  })
  return { signal: stop.signal, asked }
}

/** Why the process ends; lost without a trace if standard error does not take it. */
function writeLastLine(text: string): void {
  try {
    writeSync(process.stderr.fd, text)
  } catch {
    // The exit code tells the rest.
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new LaunchError(`configuration file \`${path}\` cannot be read: ${code}`, 1)
  }
}
