/** Every row of a table in a page has as many cells as its header. */
import test from 'ava'
import { allPages } from './markdown.js'

const cells = (line: string): number | null =>
  line.startsWith('|') && line.endsWith('|') ? line.split(/(?<!\\)\|/).length - 2 : null

test('no table in a page has a broken row', async (t) => {
  const broken: string[] = []
  for (const { path, text } of await allPages()) {
    let [isCode, columns]: [boolean, number | null] = [false, null]
    for (const [at, line] of text.split('\n').entries()) {
      if (line.startsWith('```')) isCode = !isCode
      if (isCode || line === '') columns = null
      else if (columns === null) columns = cells(line)
      else if (cells(line) !== columns) broken.push(`${path}:${at + 1}: ${line.slice(0, 100)}`)
    }
  }
  t.deepEqual(broken, [])
})
