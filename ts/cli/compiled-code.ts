/**
 * Keeps compiled code of the bundle between starts on Node.js 20. Later versions have `module.enableCompileCache`.
 *
 * The file begins with a checksum, because V8 does not verify cached code: SHA-1 of the rest, then a `Map` from names
 * of files to code, as serialised by V8. The names contain a hash of the content.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import module from 'node:module'
import { basename, dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { deserialize, serialize } from 'node:v8'
import { Script } from 'node:vm'

/** Milliseconds from the start until code is saved. Functions that were called by then need no compilation later. */
const SAVE_AFTER_MS = 3_000

const CHECKSUM_BYTES = 20

/** Names of files of the bundle that change with their content. */
const hashed = /-[\w-]{8}\.js$/
const bundle = dirname(fileURLToPath(import.meta.url))

type CompiledCode = Map<string, Buffer>

/** The method of Node.js that compiles and runs a CommonJS module. */
interface Compiling {
  _compile(this: NodeJS.Module, content: string, path: string): unknown
}

/** Uses the code in `directory` for files that are loaded from now on, and saves code that is missing there. */
export function keepCompiledCode(directory: string): void {
  const path = join(directory, `code-${process.version}-${process.arch}`)
  const known = readCode(path)
  const scripts = new Map<string, Script>()
  let isComplete = true
  const modules = module.prototype as unknown as Compiling
  const original = modules._compile
  modules._compile = function (content, path) {
    const name = basename(path)
    const isOurs = hashed.test(name) && dirname(path) === bundle
    // Functions from cached code cannot import ES modules.
    if (!isOurs || content.includes('import(')) return original.call(this, content, path)
    const cachedData = known.get(name)
    const script = new Script(module.wrap(content), {
      filename: path,
      ...(cachedData !== undefined && { cachedData }),
    })
    if (cachedData === undefined || script.cachedDataRejected === true) isComplete = false
    scripts.set(name, script)
    const run = script.runInThisContext() as (...given: readonly unknown[]) => unknown
    return run.call(this.exports, this.exports, module.createRequire(path), this, path, dirname(path))
  }
  setTimeout(() => {
    if (!isComplete) void saveCode(path, known, scripts).catch(() => undefined)
  }, SAVE_AFTER_MS).unref()
}

/** Returns an empty map if the file is missing or damaged. */
function readCode(path: string): CompiledCode {
  try {
    const bytes = readFileSync(path)
    const code = bytes.subarray(CHECKSUM_BYTES)
    if (checksum(code).equals(bytes.subarray(0, CHECKSUM_BYTES))) return deserialize(code) as CompiledCode
  } catch {
    // A start without it takes longer.
  }
  return new Map()
}

/**
 * Replaces the file. Known code of other commands stays in it. Takes one turn of the event loop per script, because the
 * largest takes milliseconds.
 */
async function saveCode(
  path: string,
  known: CompiledCode,
  scripts: ReadonlyMap<string, Script>,
): Promise<void> {
  const code: CompiledCode = new Map([...known].filter(([name]) => existsSync(join(bundle, name))))
  for (const [name, script] of [...scripts]) {
    code.set(name, script.createCachedData())
    await nextTurn()
  }
  const bytes = serialize(code)
  const directory = dirname(path)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const unfinished = `${basename(path)}.`
  for (const left of readdirSync(directory).filter((name) => name.startsWith(unfinished)))
    rmSync(join(directory, left), { force: true })
  const written = `${path}.${process.pid}`
  await writeFile(written, [checksum(bytes), bytes], { mode: 0o600 })
  renameSync(written, path)
}

const checksum = (bytes: Uint8Array): Buffer => createHash('sha1').update(bytes).digest()
