/** The daemon as a child process, for trials that use it beyond a single test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { program } from './program.js'
import { askToStop, stopChannel } from './stopping.js'

/** An answer of a server. */
export interface HttpAnswer {
  readonly status: number
  /** Parsed JSON, or text. */
  readonly body: unknown
}

/** A JSON line of the log. */
export interface LogLine {
  readonly level: string
  readonly msg: string
  readonly text: string
}

export interface ServerProcessSetup {
  readonly data: string
  readonly engine: string
  readonly args?: readonly string[]
  /** Variables in addition to those of this process. */
  readonly env?: NodeJS.ProcessEnv
  /** True to send telemetry. Default: false. */
  readonly analytics?: boolean
  /** Number of threads that answer. It is started when all of them listen. Default: the default of the server. */
  readonly httpThreads?: number | undefined
  /** Timeout until it listens or ends. */
  readonly startMsMax: number
}

/** Result of a start. */
export type Started =
  | { readonly kind: 'listening'; readonly server: ServerProcess }
  | {
      readonly kind: 'ended'
      readonly code: number | null
      /** Signal that ended it, or null. */
      readonly signal: NodeJS.Signals | null
      readonly errors: string
    }
  | { readonly kind: 'hung'; readonly errors: string }

/** Master key of every instance in a trial, so that derived keys are the same in all. */
export const MASTER_KEY = 'master-key-of-a-trial'

/** Timeout for an answer on a busy machine. */
const ANSWER_MS_MAX = 30_000

/** A running server. */
export class ServerProcess {
  readonly #child: ChildProcess
  readonly #url: string
  readonly #errors: () => string
  readonly #output: () => string
  readonly exited: Promise<number | null>
  #code: number | null | undefined

  private constructor(
    child: ChildProcess,
    url: string,
    errors: () => string,
    output: () => string,
    exited: Promise<number | null>,
  ) {
    this.#child = child
    this.#url = url
    this.#errors = errors
    this.#output = output
    this.exited = exited
    exited.then((code) => {
      this.#code = code
    })
  }

  static async start(setup: ServerProcessSetup): Promise<Started> {
    const { data, engine, args = [], env, analytics = false, httpThreads, startMsMax } = setup
    const options = ['--db-path', data, '--http-addr', '127.0.0.1:0', '--engine', engine]
    if (!analytics) options.push('--no-analytics')
    const isThreaded = httpThreads !== undefined && httpThreads > 1 && engine === 'native'
    // The log line that says that the threads listen has the level INFO.
    const threads = httpThreads === undefined ? [] : ['--http-threads', String(httpThreads)]
    if (isThreaded) threads.push('--log-level', 'INFO')
    const child = spawn(
      process.execPath,
      [
        program,
        ...options,
        '--master-key',
        MASTER_KEY,
        '--experimental-logs-mode',
        'JSON',
        ...args,
        ...threads,
      ],
      // A separate config directory, because the copy of the instance uid there would repair the damage of a trial.
      {
        env: { ...process.env, ...env, XDG_CONFIG_HOME: `${data}.config` },
        stdio: ['ignore', 'pipe', 'pipe', ...stopChannel],
      },
    )
    let [errors, output] = ['', '']
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    const exited = new Promise<number | null>((resolve) => {
      child.once('close', (code) => resolve(code))
    })
    const url = new Promise<string>((resolve) => {
      child.stderr?.on('data', (chunk: Buffer) => {
        errors += chunk.toString()
        const listening = /Server listening on: +"([^"]+)"/.exec(errors)
        const isComplete = !isThreaded || errors.includes('threads answer searches')
        if (listening !== null && isComplete) resolve(listening[1]!)
      })
    })
    const wait = new AbortController()
    const outcome = await Promise.race([
      url,
      exited.then((code) => ({ code })),
      sleep(startMsMax, null, { signal: wait.signal }).catch(() => null),
    ])
    wait.abort()
    if (typeof outcome === 'string') {
      return {
        kind: 'listening',
        server: new ServerProcess(
          child,
          outcome,
          () => errors,
          () => output,
          exited,
        ),
      }
    }
    if (outcome !== null) return { kind: 'ended', code: outcome.code, signal: child.signalCode, errors }
    child.kill('SIGKILL')
    await exited
    return { kind: 'hung', errors }
  }

  get url(): string {
    return this.#url
  }

  /** Sends a signal without waiting. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Undefined if the process could not be started. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  get hasEnded(): boolean {
    return this.#code !== undefined
  }

  /** Signal that ended it, or null. */
  get endedBy(): NodeJS.Signals | null {
    return this.#child.signalCode
  }

  get exitCode(): number | null | undefined {
    return this.#code
  }

  /** Everything written to stderr so far. */
  get errors(): string {
    return this.#errors()
  }

  /** Everything written to stdout so far. */
  get output(): string {
    return this.#output()
  }

  get log(): readonly LogLine[] {
    return logLines(this.errors)
  }

  /** @throws if the answer times out or the connection breaks */
  async call(
    method: string,
    path: string,
    body?: unknown,
    given: { readonly contentType?: string; readonly key?: string } = {},
  ): Promise<HttpAnswer> {
    const { contentType = 'application/json', key = MASTER_KEY } = given
    const sent =
      body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body), contentType }
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': contentType }),
      },
      ...(sent.body !== undefined && { body: sent.body }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    const text = await answer.text()
    try {
      return { status: answer.status, body: JSON.parse(text) }
    } catch {
      return { status: answer.status, body: text }
    }
  }

  /** Kills it, as a power failure would. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.exited
  }

  /** Asks it to stop. @returns its exit code, or 'hung' if it had to be killed after `msMax` */
  async stop(msMax: number): Promise<number | null | 'hung'> {
    askToStop(this.#child)
    const wait = new AbortController()
    const late = sleep(msMax, 'hung' as const, { signal: wait.signal }).catch(() => 'hung' as const)
    const code = await Promise.race([this.exited, late])
    wait.abort()
    if (code === 'hung') await this.kill()
    return code
  }
}

/** Parses the JSON lines of a server's stderr. */
export function logLines(errors: string): readonly LogLine[] {
  return errors.split('\n').flatMap((text) => {
    if (!text.startsWith('{')) return []
    try {
      const { level, msg } = JSON.parse(text) as { level?: unknown; msg?: unknown }
      return [{ level: String(level), msg: String(msg), text }]
    } catch {
      return []
    }
  })
}
