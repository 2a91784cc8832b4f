import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { backgroundFaultKinds } from '../../ts/engine/background-faults.js'
import { addonPlatforms } from '../../ts/engine/index.js'
import { isErrorCode } from '../../ts/errors/index.js'
import { parseLaunchOptions } from '../../ts/launch/index.js'
import { filesBelow } from './arrows.js'

const root = new URL('../../../', import.meta.url)

/** Returns the error codes in Rust sources: string literals that are passed to a user error. */
function rustCodes(text: string): readonly string[] {
  const [code = ''] = text.split(/^#\[cfg\(test\)\]/m)
  const given = code.matchAll(/(?:Error::user\(|UserError::new\(|\bcode:|\bcode =)\s*"([^"]*)"/g)
  return [...given].map(([, literal = '']) => literal)
}

test('every error code of the engine is in the table of error codes', async (t) => {
  const files = await filesBelow(fileURLToPath(new URL('crates/engine/src', root)), '.rs')
  const found = files.flatMap(({ path, text }) => rustCodes(text).map((code) => `${path}: ${code}`))
  t.true(found.length > 0, 'codes were found')
  t.deepEqual(
    found.filter((line) => !isErrorCode(line.replace(/^.*: /, ''))),
    [],
  )
})

test('the search for codes finds a misspelt code', (t) => {
  const text = 'Error::user("invalid_serch_filter", m); UserError { code: "index_not_found", message }'
  t.deepEqual(rustCodes(text), ['invalid_serch_filter', 'index_not_found'])
  t.false(isErrorCode('invalid_serch_filter'))
})

test('the server counts every kind of background fault of the native engine', (t) => {
  const text = readFileSync(new URL('crates/engine/src/background_fault.rs', root), 'utf8')
  const kinds = [...text.matchAll(/Self::\w+ => "(\w+)"/g)].map(([, kind = '']) => kind)
  t.true(kinds.length > 0, 'kinds were found')
  t.deepEqual(
    kinds.filter((kind) => !backgroundFaultKinds.some((known) => known === kind)),
    [],
  )
})

const readme = readFileSync(new URL('README.md', root), 'utf8')

test('the README names only launch options that exist', (t) => {
  const machine = { memoryBytes: 1e9, cores: 1 }
  const help = parseLaunchOptions({ args: ['--help', 'all'], env: {}, readFile: () => null, machine })
  if (help.kind !== 'help') return t.fail()
  const flags = [...readme.matchAll(/`--([a-z][a-z-]+)/g)].map(([, flag = '']) => flag)
  t.true(flags.length > 0)
  t.deepEqual(
    flags.filter((flag) => !help.text.includes(`--${flag}`)),
    [],
  )
})

test('the README names every platform that has a binary', (t) => {
  t.deepEqual(
    addonPlatforms().filter((platform) => !readme.includes(platform)),
    [],
  )
})

test('docs/dependencies.md describes every dependency', (t) => {
  const page = readFileSync(new URL('docs/dependencies.md', root), 'utf8')
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(new URL('package.json', root), 'utf8'),
  ) as {
    readonly dependencies: Readonly<Record<string, string>>
    readonly optionalDependencies: Readonly<Record<string, string>>
  }
  t.deepEqual(
    Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !page.includes(name)),
    [],
  )
})
