/** Runs `siftd verify` and `siftd repair` on a damaged directory and checks what a repair kept. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../../__test__/support/command.js'
import type { Facts } from './facts.js'
import type { Fault } from './faults.js'

/** Result of a verification. */
export interface Verified {
  /** Null if the command failed in an unexpected way. */
  readonly isSound: boolean | null
  /** Lines of its output. */
  readonly lines: readonly string[]
}

/** True for a progress line, which commands print only on slow machines. */
const isProgress = (line: string): boolean => / \d+ of \d+$/.test(line)

export async function verified(directory: string): Promise<Verified> {
  const outcome = await runCommand(['verify', '--db-path', directory, '--json'])
  const { code, lines } = outcome
  const errors = outcome.errors.filter((line) => !isProgress(line))
  if (code === 0 && errors.length === 0) return { isSound: true, lines }
  // If no engine can open the directory, the command prints one line to stderr.
  if (code === 1 && errors.length <= 1) return { isSound: false, lines: [...lines, ...errors] }
  return { isSound: null, lines: [`verify ended with ${code}`, ...lines, ...errors] }
}

/** Result of a repair. */
export interface Repaired {
  /** Exit code; null if the command failed in an unexpected way. */
  readonly code: 0 | 1 | null
  readonly lines: readonly string[]
}

export async function repaired(directory: string): Promise<Repaired> {
  const { code, lines, errors } = await runCommand(['repair', '--db-path', directory, '--json'])
  const isExpected = (code === 0 || code === 1) && errors.every((line) => !/^ +at /.test(line))
  return {
    code: isExpected ? code : null,
    lines: isExpected ? lines : [`repair ended with ${code}`, ...lines, ...errors],
  }
}

/** Returns the uid of the index that a file belongs to; null if it belongs to no index. */
export async function indexOf({ path }: Pick<Fault, 'path'>, directory: string): Promise<string | null> {
  const [top, id] = path.split('/')
  if (top !== 'indexes' || id === undefined) return null
  const text = await readFile(join(directory, 'indexes', 'catalogue.json'), 'utf8')
  const { indexes } = JSON.parse(text) as { readonly indexes: readonly { uid: string; id: string }[] }
  return indexes.find((index) => index.id === id)?.uid ?? null
}

/** Facts about the content of an index. Tasks and dates are excluded: they may be lost with the task store. */
const contentFacts = /^(settings|documents|a search|its own search)\b.* of /
/** Facts about content that a lost task store cannot change. Searches can: pinned documents are lost with it. */
const fileFacts = /^(settings|documents) of /

/**
 * Returns a line for each fact about index content that a repair should have kept but changed.
 * @param spared uids of indexes that may differ
 * @param isStoreLost true if the repair created a new task store
 * @param states allowed facts of each index, such as before and after its waiting task
 */
export function changedContent(
  found: Facts,
  states: readonly Facts[],
  spared: ReadonlySet<string>,
  isStoreLost: boolean,
): readonly string[] {
  const wanted = isStoreLost ? fileFacts : contentFacts
  const lines: string[] = []
  const [first] = states
  for (const [name, { index }] of first ?? []) {
    if (index === null || spared.has(index) || !wanted.test(name)) continue
    const shown = found.get(name)
    const isKnown = states.some((state) => state.get(name)?.value === shown?.value)
    if (!isKnown) lines.push(`${name}: found ${shown?.status} ${shown?.code} ${shown?.value.slice(0, 200)}`)
  }
  return lines
}
