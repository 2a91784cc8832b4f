/** docs/configure.md lists the options of this build. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
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
