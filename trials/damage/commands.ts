/** What do `siftd verify` and `siftd repair` say about a damaged directory, and what is left after the repair? */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../../__test__/support/command.js'
import type { Facts } from './facts.js'
import type { Fault } from './faults.js'

/** What a verification found. */
export interface Verified {
  /** null: it did not end as it should. */
  readonly isSound: boolean | null
  /** What it printed. */
  readonly lines: readonly string[]
}

/** How far a command is, which it tells on a slow machine. */
const isProgress = (line: string): boolean => / \d+ of \d+$/.test(line)

export async function verified(directory: string): Promise<Verified> {
  const outcome = await runCommand(['verify', '--db-path', directory, '--json'])
  const { code, lines } = outcome
  const errors = outcome.errors.filter((line) => !isProgress(line))
  if (code === 0 && errors.length === 0) return { isSound: true, lines }
  // A directory that no engine can be opened over is told in one line.
  if (code === 1 && errors.length <= 1) return { isSound: false, lines: [...lines, ...errors] }
  return { isSound: null, lines: [`verify ended with ${code}`, ...lines, ...errors] }
}

/** What a repair did. */
export interface Repaired {
  /** Its exit code; null if it did not end as it should. */
  readonly code: 0 | 1 | null
  readonly lines: readonly string[]
}

export async function repaired(directory: string): Promise<Repaired> {
  const { code, lines, errors } = await runCommand(['repair', '--db-path', directory, '--json'])
  const isTold = (code === 0 || code === 1) && errors.every((line) => !/^ +at /.test(line))
  return {
    code: isTold ? code : null,
    lines: isTold ? lines : [`repair ended with ${code}`, ...lines, ...errors],
  }
}

/** Uid of the index that a file belongs to; null for files of none. */
export async function indexOf({ path }: Pick<Fault, 'path'>, directory: string): Promise<string | null> {
  const [top, id] = path.split('/')
  if (top !== 'indexes' || id === undefined) return null
  const text = await readFile(join(directory, 'indexes', 'catalogue.json'), 'utf8')
  const { indexes } = JSON.parse(text) as { readonly indexes: readonly { uid: string; id: string }[] }
  return indexes.find((index) => index.id === id)?.uid ?? null
}

/** Facts about the content of an index; tasks and dates may be lost with a task store. */
const ofContent = /^(settings|documents|a search|its own search)\b.* of /
/** Those of them that a lost task store cannot change: pinned documents are lost with it. */
const ofFiles = /^(settings|documents) of /

/**
 * Facts about the content of indexes that a repair should have kept and did not, a line each.
 * @param spared uids of indexes that may differ
 * @param isStoreLost whether the task store was made anew
 * @param states facts of which each index has to show one, such as before and after its waiting task
 */
export function changedContent(
  found: Facts,
  states: readonly Facts[],
  spared: ReadonlySet<string>,
  isStoreLost: boolean,
): readonly string[] {
  const wanted = isStoreLost ? ofFiles : ofContent
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
