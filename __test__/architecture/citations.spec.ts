import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { filesBelow } from './arrows.js'

const root = new URL('../../../', import.meta.url)

/** Returns the section numbers of a page in `docs/behaviour`, such as `7` and `7.3`. */
function sectionsOf(page: string): ReadonlySet<string> {
  const text = readFileSync(new URL(`docs/behaviour/${page}.md`, root), 'utf8')
  return new Set([...text.matchAll(/^#{2,3} (\d+(?:\.\d+)?)/gm)].map(([, number = '']) => number))
}

const pages = ['search', 'documents', 'settings', 'vectors', 'tasks', 'operations', 'http-api']
const sections = new Map(pages.map((page) => [page, sectionsOf(page)]))

/**
 * Returns every rule cited in comments of a file, as `page §number`. A number without a page belongs to the page cited
 * before it in the same comment.
 */
function cited(text: string): readonly string[] {
  // A citation may span several lines of a comment.
  const joined = text.replaceAll(/\n\s*(?:\/\/[/!]?|\*)(?=\s)/g, ' ')
  return joined.split('\n').flatMap((line) => {
    let page = ''
    return [...line.matchAll(/(?:\b([a-z-]+) )?§(\d+(?:\.\d+)?)/g)].map(([, named, number]) => {
      if (named !== undefined && named !== 'and') page = named
      return `${page} §${number}`
    })
  })
}

const exists = (citation: string): boolean => {
  const [page = '', number = ''] = citation.split(' §')
  return sections.get(page)?.has(number) === true
}

test('every rule cited in a comment exists in docs/behaviour', async (t) => {
  const folders = [
    ['ts', '.ts'],
    ['crates', '.rs'],
  ] as const
  let found = 0
  const missing: string[] = []
  for (const [folder, suffix] of folders) {
    const files = await filesBelow(fileURLToPath(new URL(folder, root)), suffix)
    for (const { path, text } of files.filter((file) => !/(^|\/)target\//.test(file.path))) {
      const citations = cited(text.replaceAll(/RFC \d+ §[\d.]+/g, ''))
      found += citations.length
      missing.push(
        ...citations.filter((citation) => !exists(citation)).map((citation) => `${path}: ${citation}`),
      )
    }
  }
  t.deepEqual(missing, [])
  t.true(found > 100, 'citations were found')
})

test('no comment names a page outside the repository', async (t) => {
  const files = await filesBelow(fileURLToPath(new URL('ts', root)), '.ts')
  t.deepEqual(
    files.filter(({ text }) => /\bspec\/[a-z-]+\.md|design\.md|style\.md/.test(text)).map(({ path }) => path),
    [],
  )
})
