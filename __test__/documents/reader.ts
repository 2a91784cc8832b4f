/**
 * Simulates a reader who follows a page in an empty folder: runs commands in order, programs in separate files, and
 * configurations in the place where `siftd` finds them.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ExecutionContext } from 'ava'
import { commandsOf, type Ran, Shell } from '../process/documents/shell.js'
import { freePort } from '../support/ports.js'
import { program } from '../support/program.js'
import { type Block, type DocumentPage, root } from './markdown.js'
import { breach, missingLine } from './shown.js'

/** Requirements of a page that its own commands do not create. */
export interface Presumed {
  /** Files in the folder of the reader, by name. */
  readonly files?: Readonly<Record<string, string>>
  /** Commands that the reader has run before. */
  readonly before?: string
  /** Addresses of other servers in the page, each with a replacement that exists. */
  readonly addresses?: Readonly<Record<string, string>>
}

/** The result of a page. */
export interface Reading {
  /** Faults, each with its position. */
  readonly faults: readonly string[]
  /** Number of tried commands, programs and configurations. */
  readonly tried: number
  /** Blocks that cannot run here, each with its position and reason. */
  readonly notRun: readonly string[]
}

/** Languages of blocks, by treatment. */
const shells = ['sh', 'bash']
const programs = ['js', 'ts', 'mjs']
const outputs = ['json', 'text']
/** Configurations of other programs, data, and programs in other languages. Other tests run them. */
const foreign = [
  'yaml',
  'ini',
  'dockerfile',
  'csv',
  'sql',
  'python',
  'go',
  'rust',
  'java',
  'jsx',
  'php',
  'ruby',
  'nginx',
  'caddyfile',
]
export const languages = [...shells, ...programs, ...outputs, 'toml', ...foreign]

/** Folders that a reader with full rights has. */
const SYSTEM_FOLDERS = /(?<![\w.])\/(?:var\/lib|var\/backups|etc|run\/secrets|srv)\/(?=\w)/g

/** The engine for trying pages. */
export const ENGINE = process.env.SIFTD_TEST_ENGINE ?? 'fallback'

export async function readAlong(
  t: Pick<ExecutionContext, 'teardown'>,
  page: DocumentPage,
  presumed: Presumed = {},
): Promise<Reading> {
  const reader = await Reader.arrive(t, presumed)
  const faults: string[] = []
  let tried = 0
  let last: Ran | null = null
  const say = (block: Block, fault: string | null): void => {
    if (fault !== null) faults.push(`${page.path}:${block.line}: ${fault}`)
  }
  for (const command of commandsOf(presumed.before ?? '')) {
    const ran = await reader.run(command)
    const fault = faultOf(ran, command) ?? (await reader.taskFault(ran, command))
    if (fault !== null) faults.push(`${page.path}, before it: ${fault}`)
  }
  for (const block of page.blocks) {
    if (block.notRun !== null) {
      last = null
      continue
    }
    const isOutput = outputs.includes(block.language)
    if (block.language === 'json') say(block, jsonFault(block.text, last))
    if (block.language === 'text' && last !== null) say(block, lineFault(block.text, last))
    if (isOutput) continue
    last = null
    if (block.language === 'toml') reader.write('config.toml', block.text)
    // A block is pasted as a whole: its commands do not wait for the tasks of those before.
    const pasted: { readonly command: string; readonly ran: Ran }[] = []
    for (const command of reader.commandsFor(block)) {
      tried += 1
      last = await reader.run(command)
      pasted.push({ command, ran: last })
    }
    for (const { command, ran } of pasted)
      say(block, faultOf(ran, command) ?? (await reader.taskFault(ran, command)))
  }
  const notRun = page.blocks.flatMap(({ notRun, line }) =>
    notRun === null ? [] : [`${page.path}:${line}: ${notRun}`],
  )
  return { faults, tried, notRun }
}

class Reader {
  #programs = 0

  private constructor(
    private readonly shell: Shell,
    private readonly home: string,
    private readonly port: number,
    private readonly presumed: Presumed,
  ) {}

  static async arrive(t: Pick<ExecutionContext, 'teardown'>, presumed: Presumed): Promise<Reader> {
    const base = mkdtempSync(join(tmpdir(), 'siftd-reader-'))
    const [home, bin, system] = ['home', 'bin', 'system'].map((name) => join(base, name))
    for (const folder of [home!, bin!, system!]) mkdirSync(folder)
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const shell = new Shell(home!, base, {
      ...ownEnvironment(),
      PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}`,
      XDG_CONFIG_HOME: join(base, 'config'),
      XDG_CACHE_HOME: join(base, 'cache'),
      SVC_HTTP_ADDR: `127.0.0.1:${port}`,
      SVC_URL: url,
      SVC_ENGINE: ENGINE,
    })
    t.teardown(async () => {
      shell.stop()
      stopServer(base)
      await rm(base, { recursive: true, force: true, maxRetries: 5 })
    })
    const reader = new Reader(shell, home!, port, presumed)
    layOut(base, url)
    for (const [name, text] of Object.entries(presumed.files ?? {})) reader.write(name, text)
    return reader
  }

  /** Writes a file into the folder of the reader, as shown in a page. */
  write(name: string, text: string): void {
    writeFileSync(join(this.home, name), `${this.here(text)}\n`)
  }

  /** Returns the commands that try a block. */
  commandsFor({ language, text }: Block): readonly string[] {
    if (shells.includes(language)) return commandsOf(text)
    if (language === 'toml') return ['siftd config validate config.toml']
    if (!programs.includes(language)) return []
    // The program of a reader is in a separate folder, like a project.
    const folder = `program-${++this.#programs}`
    mkdirSync(join(this.home, folder))
    this.write(join(folder, 'program.mjs'), text)
    return [`(cd ${folder} && node program.mjs)`]
  }

  run(command: string): Promise<Ran> {
    return this.shell.run(this.here(command))
  }

  /** Returns the fault of the task in a command's answer; null: it succeeded, or there is no task. */
  async taskFault({ out }: Ran, command: string): Promise<string | null> {
    for (const answer of answersIn(out)) {
      const { taskUid } = answer
      if (typeof taskUid !== 'number') continue
      const url = `http://127.0.0.1:${this.port}/tasks/${taskUid}?waitMs=60000`
      const [, key] = /authorization: bearer ([^'"]+)/i.exec(command) ?? []
      const { out: value } = await this.shell.run(`printf %s "${key ?? ''}"`)
      const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${value}` }
      const task = (await (await fetch(url, { headers })).json()) as Readonly<Record<string, unknown>>
      if (task.status !== 'succeeded') return `${command}\n  has the task ${JSON.stringify(task)}`
    }
    return null
  }

  /** Replaces addresses and folders by existing ones. */
  private here(text: string): string {
    let there = text
    for (const [name, address] of Object.entries(this.presumed.addresses ?? {}))
      there = there.replaceAll(name, address)
    return there
      .replaceAll(/\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0):7700\b/g, `127.0.0.1:${this.port}`)
      .replaceAll(SYSTEM_FOLDERS, (folder) => `${join(dirname(this.home), 'system')}${folder}`)
  }
}

/** Returns the environment without options of servers. */
const ownEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:SVC|MEILI)_/.test(name)))

/** Creates the reader's folder: samples, `siftd`, `npm start`, and for programs the package and the client. */
function layOut(base: string, url: string): void {
  const home = join(base, 'home')
  mkdirSync(join(home, 'samples'))
  copyFileSync(join(root, 'samples/films.ndjson'), join(home, 'samples/films.ndjson'))
  const library = join(home, 'node_modules/siftd')
  mkdirSync(library, { recursive: true })
  const compiled = pathToFileURL(join(root, 'dist/ts/index.js')).href
  writeFileSync(join(library, 'package.json'), '{"type":"module","exports":"./index.js"}')
  writeFileSync(join(library, 'index.js'), `export * from '${compiled}'\n`)
  symlinkSync(join(root, 'node_modules/meilisearch'), join(home, 'node_modules/meilisearch'))
  script(join(base, 'bin/siftd'), serveBehind(base, program, url))
  // Only `npm start` works like in a checkout.
  script(
    join(base, 'bin/npm'),
    `[ "$1" = start ] || { echo "npm $*: not here" >&2; exit 1; }
shift
[ "\${1-}" = -- ] && shift
exec siftd "$@"`,
  )
}

function script(path: string, text: string): void {
  writeFileSync(path, `#!/bin/bash\n${text}\n`)
  chmodSync(path, 0o755)
}

/**
 * Runs commands of `siftd` unchanged, except servers: a server runs in the background, replaces the previous one, and
 * the script waits until it is healthy.
 */
const serveBehind = (base: string, main: string, url: string): string => `serves=no
case "\${1-}" in ''|-*) serves=yes ;; esac
for word; do case "$word" in --help|--version|--print-config) serves=no ;; esac; done
if [ $serves = no ]; then exec '${process.execPath}' '${main}' "$@"; fi
if [ -f '${base}/pid' ]; then
  kill "$(cat '${base}/pid')" 2>/dev/null
  while kill -0 "$(cat '${base}/pid')" 2>/dev/null; do sleep 0.05; done
fi
'${process.execPath}' '${main}' "$@" >'${base}/log' 2>&1 </dev/null &
echo $! >'${base}/pid'
until curl -fs '${url}/health' >/dev/null; do
  kill -0 $! 2>/dev/null || { cat '${base}/log' >&2; exit 1; }
  sleep 0.05
done`

function stopServer(base: string): void {
  const file = join(base, 'pid')
  if (!existsSync(file)) return
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 'SIGKILL')
  } catch {
    // The server ended on its own.
  }
}

/** Returns the JSON objects in an output: the complete output, or one per line. */
function answersIn(out: string): readonly Readonly<Record<string, unknown>>[] {
  const read = (text: string): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      return null
    }
  }
  const whole = read(out)
  const found = whole === null ? out.split('\n').map(read) : [whole]
  return found.filter((one): one is Record<string, unknown> => typeof one === 'object' && one !== null)
}

/** Lines of an output quoted in a fault. */
const LINES_MAX = 15

function faultOf({ code, out, errors }: Ran, command: string): string | null {
  const said = `${out}${errors}`.trim().split('\n').slice(-LINES_MAX).join('\n  ')
  if (code !== 0) return `${command}\n  ends with ${code}: ${said}`
  const refused = answersIn(out).find((one) => 'code' in one && 'type' in one && 'link' in one)
  return refused === undefined ? null : `${command}\n  is refused: ${JSON.stringify(refused)}`
}

function jsonFault(example: string, last: Ran | null): string | null {
  let shown: unknown
  try {
    shown = JSON.parse(example)
  } catch (error) {
    return `no JSON: ${(error as Error).message}`
  }
  if (last === null) return null
  const answer = answersIn(last.out).at(-1)
  return answer === undefined ? `the command before it answers no JSON: ${last.out}` : breach(shown, answer)
}

function lineFault(example: string, last: Ran): string | null {
  const line = missingLine(example, `${last.out}\n${last.errors}`)
  return line === null
    ? null
    : `the command before it does not print \`${line}\`, but\n${last.out}${last.errors}`
}
