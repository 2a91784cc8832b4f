/** README.md shows measured figures and tested versions. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { root } from './markdown.js'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const readme = read('README.md')

/** A section of README.md without its heading. */
const section = (title: string): string => readme.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? ''

/** Removes the commas between thousands. */
const plain = (text: string): string => text.replaceAll(/(\d),(?=\d{3})/g, '$1')

test('every figure of the table about speed is in benchmark/RESULTS.md', (t) => {
  const results = plain(read('benchmark/RESULTS.md'))
  const cells = section('Speed')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .flatMap((line) => line.split('|').slice(2, -1))
    .map((cell) => plain(cell.trim()))
  t.true(cells.length >= 12)
  t.deepEqual(
    cells.filter((cell) => !results.includes(cell)),
    [],
  )
})

test('the versions of clients are the tested ones', (t) => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>
  }
  const named = [...section('Clients').matchAll(/`([^`]+)` (\d+\.\d+\.\d+)/g)]
  t.is(named.length, 3)
  for (const [, name, version] of named) t.is(packages[`node_modules/${name}`]?.version, version, name)
})

test('platforms with a binary are the built ones', (t) => {
  const { napi } = JSON.parse(read('package.json')) as {
    readonly napi: { readonly targets: readonly string[] }
  }
  const [built = '', others = ''] = section('Platforms').split('Everywhere else')
  t.is(built.match(/`[^`]+`/g)?.length, napi.targets.length)
  // No target has both words. If one gets both, README.md must mention it.
  t.is(
    others.includes('`win32-arm64`'),
    !napi.targets.some((target) => target.startsWith('aarch64-pc-windows')),
  )
})
