/** A shell that runs one command after another, as a reader types them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly errors: string
}

/** Timeout of a command on a busy machine. */
const COMMAND_MS_MAX = 60_000

export class Shell {
  readonly #child: ChildProcess
  readonly #directory: string
  #ended: (code: number) => void = () => undefined

  /**
   * @param home working directory of the commands
   * @param directory directory for the files of this class
   */
  constructor(home: string, directory: string, env: NodeJS.ProcessEnv) {
    this.#directory = directory
    this.#child = spawn('bash', ['--noprofile', '--norc'], {
      cwd: home,
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.#ended(Number(line)))
    this.#child.once('close', () => this.#ended(-1))
  }

  /** Runs a command to its end. The next command sees its working directory and variables. */
  async run(command: string): Promise<Ran> {
    const [script, out, errors] = ['command', 'out', 'errors'].map((name) => join(this.#directory, name))
    writeFileSync(script!, command)
    const code = new Promise<number>((resolve) => {
      this.#ended = resolve
    })
    const alarm = setTimeout(() => this.stop(), COMMAND_MS_MAX)
    this.#child.stdin!.write(`eval "$(cat '${script}')" >'${out}' 2>'${errors}' </dev/null; echo $?\n`)
    const ended = await code
    clearTimeout(alarm)
    const said = (path: string): string => readFileSync(path, 'utf8')
    return { code: ended, out: said(out!), errors: said(errors!) }
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }
}

/** Splits a block into commands. A line that ends inside quotes or with a backslash continues on the next. */
export function commandsOf(block: string): readonly string[] {
  const commands: string[] = []
  let open = ''
  for (const line of block.split('\n')) {
    open = open === '' ? line : `${open}\n${line}`
    if (isOpen(open)) continue
    if (open.trim() !== '' && !open.startsWith('#')) commands.push(open)
    open = ''
  }
  return open === '' ? commands : [...commands, open]
}

function isOpen(text: string): boolean {
  if (text.endsWith('\\')) return true
  let quote = ''
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at]!
    if (quote === '' && letter === '\\') at += 1
    else if (quote === '' && (letter === "'" || letter === '"')) quote = letter
    else if (quote === '"' && letter === '\\') at += 1
    else if (letter === quote) quote = ''
    // A comment after a command may contain an apostrophe.
    else if (quote === '' && letter === '#' && /\s/.test(text[at - 1] ?? ' '))
      at = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at)
  }
  return quote !== ''
}
