/** docs/errors.md describes the codes that link to it, with their statuses. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { codes, errorLink, isErrorCode } from '../../ts/errors/codes.js'
import { inlineCode, root } from './markdown.js'

test('docs/errors.md names existing codes with their status', (t) => {
  const text = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))
  const shown = rows.flatMap((line) => {
    const [, names = '', status = ''] = line.split('|')
    return inlineCode(names).map(({ code }) => ({ code, status: Number(status) || null }))
  })
  t.is(shown.length, 19)
  const known: Readonly<Record<string, { readonly status: number }>> = codes
  for (const { code, status } of shown) {
    t.true(code in known, code)
    // A task has a code, but no status.
    if (status !== null) t.is(known[code]?.status, status, code)
  }
  const linked = Object.keys(codes).filter(
    (code) => isErrorCode(code) && errorLink(code) === `/errors#${code}`,
  )
  t.deepEqual(linked.sort(), shown.map(({ code }) => code).sort())
})
