/** docs/configure.md lists the options and the experimental features of this build. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { featureNames } from '../../ts/instance/index.js'
import { root } from './markdown.js'

const check = (page: string): number | null =>
  spawnSync(process.execPath, [join(root, 'scripts/document-options.mjs'), '--check', page]).status

test('docs/configure.md lists the options of this build, as written by the script', (t) => {
  const page = join(root, 'docs/configure.md')
  t.is(check(page), 0, 'run node scripts/document-options.mjs')
  const directory = mkdtempSync(join(tmpdir(), 'siftd-options-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const other = join(directory, 'configure.md')
  writeFileSync(other, readFileSync(page, 'utf8').replace('`localhost:7700` |', '`localhost:7701` |'))
  t.is(check(other), 1, 'another default is noticed')
})

test('docs/configure.md has a row for each experimental feature, in the order of answers', (t) => {
  const text = readFileSync(join(root, 'docs/configure.md'), 'utf8')
  const [, section = ''] = text.split('\n## Experimental features\n')
  const names = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  t.deepEqual(names, [...featureNames])
})
