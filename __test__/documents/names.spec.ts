/** Commands, options, variables, scripts, files and routes mentioned in pages exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { commands } from '../../ts/cli/program.js'
import { flagsOf, variablesOf } from '../../ts/launch/names.js'
import { rows } from '../../ts/launch/table.js'
import { startServer } from '../support/server.js'
import { allPages, inlineCode, root } from './markdown.js'

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

/** All commands with their subcommands, as paths of words. */
async function described(): Promise<{
  readonly paths: ReadonlySet<string>
  readonly flags: ReadonlySet<string>
}> {
  const paths = new Set<string>()
  const serving = rows.flatMap(([name, row]) =>
    flagsOf(name, row).flatMap((flag) => [`--${flag}`, ...(row.isSecret ? [`--${flag}-file`] : [])]),
  )
  const flags = new Set([...serving, '--help', '--version', '--print-config'])
  type Described = ReturnType<Awaited<ReturnType<(typeof commands)[number]['load']>>['describe']>
  const collect = (path: string, command: Described): void => {
    paths.add(path)
    for (const { long } of command.options) if (long != null) flags.add(long)
    for (const one of command.commands) collect(`${path} ${one.name()}`, one)
  }
  for (const { name, load } of commands) collect(name, (await load()).describe())
  return { paths, flags }
}

const { paths, flags } = await described()
const variables = new Set(
  rows.flatMap(([name, row]) => variablesOf(name, row).flatMap((one) => [one, `${one}_FILE`])),
)
/** Variables of commands that give a server. */
for (const name of ['URL', 'KEY', 'KEY_FILE', 'CA']) variables.add(`SVC_${name}`)

/** Folders of the checkout whose files are mentioned in pages. */
const folders = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !['node_modules', 'dist', 'target', 'npm'].includes(entry.name))
  .map(({ name }) => name)

const placeholders = (path: string): string => path.replaceAll(/\{[^}]*\}|:\w+/g, '{}')

/** Returns the fault of a piece of code in running text; null: it is correct, or not a name. */
function faultOf(code: string, routes: ReadonlySet<string>): string | null {
  const [first = '', second = ''] = code.split(/\s+/)
  if (first === 'npm' && second === 'run') {
    const script = code.split(/\s+/)[2] ?? ''
    return script in manifest.scripts ? null : `no script ${script}`
  }
  // Options of scripts and of other programs are not checked.
  if (['npm', 'npx', 'cargo', 'docker'].includes(first)) return null
  if (first === 'siftd' && /^[a-z]/.test(second)) {
    const words = code.split(/\s+/).slice(1, 3)
    // Alternatives are separated by bars, as in `tasks list
    // watch`.
    const known = words[0]!.split('|').every((word) => paths.has(word))
    if (!known) return `no command ${words[0]}`
    const has = [...paths].some((path) => path.startsWith(`${words[0]} `))
    if (has && words[1] !== undefined && /^[a-z|]+$/.test(words[1]))
      for (const word of words[1].split('|'))
        if (!paths.has(`${words[0]} ${word}`)) return `no command ${words[0]} ${word}`
  }
  for (const [, flag = ''] of code.matchAll(/(?:^|[\s(])(--[a-z][a-z0-9-]*)/g))
    if (!flags.has(flag)) return `no option ${flag}`
  for (const [variable] of code.matchAll(/\b(?:SVC|MEILI)_[A-Z0-9_]+\b/g))
    if (!variables.has(variable)) return `no variable ${variable}`
  const route = /^(GET|POST|PUT|PATCH|DELETE) (\/[^\s?]*)/.exec(code)
  if (route !== null && !routes.has(placeholders(`${route[1]} ${route[2]}`))) return `no route ${code}`
  const path = /^(?:\.\.?\/)*([\w.@-]+)\/[\w./@*-]*$/.exec(code)
  if (path !== null && folders.includes(path[1]!) && !code.includes('*'))
    if (!existsSync(join(root, code.replace(/^(?:\.\.?\/)+/, '')))) return `no file ${code}`
  return null
}

test('names in the running text of pages exist', async (t) => {
  const server = await startServer(t)
  const { body } = await server.get('/openapi.json')
  const described = body.paths as Readonly<Record<string, object>>
  const routes = new Set(
    Object.entries(described).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => placeholders(`${method.toUpperCase()} ${path}`)),
    ),
  )
  const faults = (text: string, path: string): readonly string[] =>
    inlineCode(text).flatMap(({ code, line, paragraph }) => {
      const fault = faultOf(code, routes)
      // Scripts of the project have different options.
      const isOther = fault?.startsWith('no option') === true && paragraph.includes('`npm run ')
      return fault === null || isOther ? [] : [`${path}:${line}: ${fault}`]
    })
  const pages = await allPages()
  t.deepEqual(
    pages.flatMap(({ path, text }) => faults(text, path)),
    [],
  )
  const made = ['`siftd serch`', '`siftd tasks wait`', '`--db-pth x`', '`SVC_DB_PTH`', '`npm run nothing`']
    .concat(['`ts/none.ts`', '`GET /ghosts`'])
    .join('\n\n')
  t.is(faults(made, 'made.md').length, 7)
})
