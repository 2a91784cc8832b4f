import { writeSync } from 'node:fs'
import {
  build,
  LaunchError,
  machine,
  optionOf,
  packageVersion,
  parseLaunchOptions,
  userDirectory,
} from '../launch/index.js'
import type { StartRole } from '../replication/index.js'
import type { Logger } from '../telemetry/index.js'
import { lastLineOf } from './last-line.js'
import { commandNamed, commands, usualArguments } from './program.js'
import type { Serving } from './serve.js'
import { nextSteps } from './start-screen.js'
import { textOf } from './text-of.js'

/**
 * Milliseconds after the first stop request in which further ones count as the same request. A terminal sends a signal
 * to the entire process group, and npm forwards its own signal.
 */
const SAME_REQUEST_MS = 1_000

const version = packageVersion()

surviveLostOutput()
// The bundle is in CommonJS, which has no `await` at the top.
main().catch((error: unknown) => {
  writeLastLine(`${lastLineOf(error)}\n`)
  process.exit(error instanceof LaunchError ? error.exitCode : 1)
})

async function main(): Promise<void> {
  const args = usualArguments(process.argv.slice(2))
  const [name, ...rest] = args
  const command = commandNamed(name)
  if (command !== null) {
    // `process.exit` could truncate output to a pipe.
    const { runCommand } = await import('./run-command.js')
    process.exitCode = await runCommand(command, rest)
    // Node.js 20 sometimes does not end a process by itself: it waits for requests that get no answer any more.
    process.once('beforeExit', () => process.exit())
    return
  }
  const launch = parseLaunchOptions({
    args,
    env: process.env,
    readFile: textOf,
    machine: machine(),
    commands,
  })
  if ('text' in launch) return void process.stdout.write(launch.text)
  if (launch.kind === 'version') return void process.stdout.write(`siftd ${version}\n`)
  const { options, configFile } = launch
  // Loaded here, so that commands and usage errors do not load the server or the engine.
  const { moduleLog, openLogWithOutlets } = await import('../telemetry/index.js')
  const { outlets, console, ...opened } = openLogWithOutlets({
    level: options.logLevel,
    mode: options.experimentalLogsMode,
  })
  const log = moduleLog(opened.log, 'cli')
  // `exit` is also emitted after an uncaught exception.
  process.once('exit', () => console?.writeNow())
  // Listeners are added before anything is opened, so that a stop request during a long start is not lost.
  const stop = stopOnRequest(log)
  const { startStoreThread } = await import('./store-thread.js')
  startStoreThread(optionOf('taskStoreDriver', process.env))
  const { serve } = await import('./serve.js')
  const started = {
    ...{ launch, configFile, machine: machine(), version, build: build() },
    ...{ userDirectory: userDirectory(process.env), log, outlets, signal: stop.signal },
  }
  let startsAs: StartRole = options.follow ? 'follower' : 'leader'
  for (let given = options; !stop.signal.aborted; ) {
    const serving: Serving | null = await serve({ ...started, options: given, startsAs }).catch(
      (error: unknown) => {
        if (error !== stop.signal.reason) throw error
        return null
      },
    )
    if (serving === null) break
    console?.write(`${serving.screen}\n`)
    if (args.length === 0 && process.stderr.isTTY)
      console?.write(`${nextStepsOf(serving.url, options.masterKey)}\n`)
    await Promise.race([stop.asked, aborted(serving.ended)])
    await serving.stop()
    startsAs = serving.nextRole()
    // The data directory has the imported data already.
    given = { ...given, importDump: null, importSnapshot: null }
  }
  log.info('stopped')
  await console?.end()
  process.exit(0)
}

function nextStepsOf(url: string, masterKey: string | null): string {
  const program = process.env.npm_lifecycle_event === 'start' ? 'npm start --' : 'siftd'
  return nextSteps({ url, program, needsKey: masterKey !== null })
}

/** Resolves once a signal is aborted. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/**
 * Prevents failed writes to standard output and standard error, such as warnings of Node.js, from ending the process.
 */
function surviveLostOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

/**
 * Aborts at the first stop request: a signal, or the message `shutdown` of the parent process, since signals on Windows
 * end a process before it can close anything. A second request ends the process at once.
 */
function stopOnRequest(log: Logger): { readonly signal: AbortSignal; readonly asked: Promise<void> } {
  const stop = new AbortController()
  let askedAt = 0
  const asked = new Promise<void>((resolve) => {
    const ask = (signal: string): void => {
      if (!stop.signal.aborted) {
        askedAt = performance.now()
        log.info({ signal }, 'stopping')
        stop.abort()
        resolve()
      } else if (performance.now() - askedAt > SAME_REQUEST_MS) process.exit(130)
    }
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => ask(signal))
    process.on('message', (message) => {
      if (message === 'shutdown') ask(message)
    })
  })
  return { signal: stop.signal, asked }
}

/** Writes the reason for the exit to standard error. */
function writeLastLine(text: string): void {
  try {
    writeSync(process.stderr.fd, text)
  } catch {
    // Standard error is closed or full. The exit code still shows the failure.
  }
}
