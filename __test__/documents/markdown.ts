/** Extracts the parts of documentation pages that a reader could type. */
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the checkout. */
export const root = fileURLToPath(new URL('../../../', import.meta.url))

/** A fenced block. */
export interface Block {
  /** The word after the fence; empty without a word. */
  readonly language: string
  readonly text: string
  /** The line of the fence in the page, counted from 1. */
  readonly line: number
  /** The reason in the comment `<!-- not run: … -->` before the block; null: the block is tested. */
  readonly notRun: string | null
}

export interface DocumentPage {
  /** Path relative to the checkout, with slashes. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly Block[]
}

/** Guides with commands that other tests run. */
const runElsewhere: readonly string[] = ['docs/guides/postgres.md']

/** Pages with commands for users: README.md, the pages directly in `docs/`, and the guides. */
export async function commandPages(): Promise<readonly DocumentPage[]> {
  const folders = ['docs', 'docs/guides']
  const names = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(root, folder)))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `${folder}/${name}`),
    ),
  )
  const paths = names.flatMap((some) => some.toSorted()).filter((path) => !runElsewhere.includes(path))
  return ['README.md', ...paths].map(readPage)
}

/** All pages: also internal pages and pages for contributors. */
export async function allPages(): Promise<readonly DocumentPage[]> {
  const below = await readdir(join(root, 'docs'), { recursive: true })
  const names = below
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
  const others = ['README.md', 'ARCHITECTURE.md', '.github/CONTRIBUTING.md', '.github/SECURITY.md']
  return [...others, ...names.sort()].map(readPage)
}

const readPage = (path: string): DocumentPage => parsePage(path, readFileSync(join(root, path), 'utf8'))

const NOT_RUN = /^<!-- not run: (.+) -->$/

export function parsePage(path: string, text: string): DocumentPage {
  const lines = text.split('\n')
  const blocks: Block[] = []
  let [open, inside]: [number, string[]] = [-1, []]
  for (const [at, line] of lines.entries()) {
    if (!line.startsWith('```')) inside.push(line)
    else if (open < 0) [open, inside] = [at, []]
    else {
      const before = lines[lines[open - 1] === '' ? open - 2 : open - 1] ?? ''
      const notRun = NOT_RUN.exec(before)?.[1] ?? null
      blocks.push({ language: lines[open]!.slice(3).trim(), text: inside.join('\n'), line: open + 1, notRun })
      open = -1
    }
  }
  return { path, text, blocks }
}

/** Code between backticks in running text. */
export interface InlineCode {
  readonly code: string
  readonly line: number
  readonly paragraph: string
}

export function inlineCode(text: string): readonly InlineCode[] {
  const prose = text.replaceAll(/^```[^\n]*\n.*?^```$/gms, (block) => block.replaceAll(/[^\n]/g, ''))
  return [...prose.matchAll(/`([^`\n]+)`/g)].map((match) => {
    const [before, after] = [prose.slice(0, match.index), prose.slice(match.index)]
    const paragraph = `${before.split('\n\n').at(-1)}${after.split('\n\n', 1)[0]}`
    return { code: match[1]!, line: before.split('\n').length, paragraph }
  })
}
