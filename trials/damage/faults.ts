/** Chooses which file to damage and how, and damages it. */
import { cp, open, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { numbers } from '../../__test__/support/numbers.js'
import type { Ending, World } from './world.js'

/** Ways to damage a file. */
export const fileDamages = [
  'bit flipped',
  'cut by a byte',
  'cut in half',
  'emptied',
  'zeros',
  'deleted',
  'older',
] as const
/** Ways to damage a directory. */
export const directoryDamages = ['deleted', 'older'] as const

export type Damage = (typeof fileDamages)[number]

export interface Fault {
  readonly number: number
  readonly ending: Ending
  /** Kind of the file, as `kindsIn` names it. */
  readonly kind: string
  /** Path of the file, relative to the data directory. */
  readonly path: string
  readonly damage: Damage
}

/** Maximum size of a zeroed block. */
const ZEROED_BYTES_MAX = 4_096
/** The endings of a world. Faults alternate between them. */
const endings: readonly Ending[] = ['killed', 'stopped']

/** Kind → paths of that kind, for both endings of a world. */
export type Kinds = Readonly<Record<Ending, ReadonlyMap<string, readonly string[]>>>

/** Groups all files and directories of a world by kind. */
export async function kindsOf(world: World): Promise<Kinds> {
  const [stopped, killed] = await Promise.all(
    [world.directories.stopped, world.directories.killed].map(kindsIn),
  )
  return { stopped: stopped!, killed: killed! }
}

async function kindsIn(directory: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const births = new Map<string, number>()
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    births.set(path, (await stat(path)).mtimeMs)
  }
  const oldestFirst = entries.toSorted((left, right) => {
    const [a, b] = [join(left.parentPath, left.name), join(right.parentPath, right.name)]
    return births.get(a)! - births.get(b)! || (a < b ? -1 : 1)
  })
  const kinds = new Map<string, string[]>()
  const newest = newestCommits(entries.map((entry) => join(entry.parentPath, entry.name)))
  for (const entry of oldestFirst) {
    const full = join(entry.parentPath, entry.name)
    const path = full.slice(directory.length + 1)
    const kind = `${generalised(path)}${entry.isDirectory() ? '/' : ''}${newest.has(full) ? ' (newest)' : ''}`
    kinds.set(kind, [...(kinds.get(kind) ?? []), path])
  }
  return kinds
}

/** Replaces the parts of a path that differ between files of one kind by stars. */
export const generalised = (path: string): string =>
  path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|\d+/g, '*')

/** Returns the paths of the newest commit of each index. */
function newestCommits(paths: readonly string[]): ReadonlySet<string> {
  const newest = new Map<string, string>()
  for (const path of paths.filter((path) => basename(path).startsWith('commit-')).toSorted()) {
    newest.set(dirname(path), path)
  }
  return new Set(newest.values())
}

/**
 * Returns the fault with a number. Consecutive numbers go through all kinds of files, then through all kinds with the
 * next damage. The seed chooses among the files of a kind.
 */
export function faultOf(kinds: Kinds, number: number, seed: number): Fault {
  const random = numbers(seed * 1_000_003 + number)
  // Uses the kinds of both endings, so that a number has the same kind in each replay.
  const names = [...new Set([...kinds.killed.keys(), ...kinds.stopped.keys()])].toSorted()
  const kind = names[number % names.length]!
  const turn = Math.floor(number / names.length)
  const damages = kind.endsWith('/') ? directoryDamages : fileDamages
  const damage = damages[turn % damages.length]!
  const wanted = endings[Math.floor(turn / damages.length) % endings.length]!
  const ending = kinds[wanted].has(kind) ? wanted : endings.find((other) => other !== wanted)!
  const paths = kinds[ending].get(kind)!
  return { number, ending, kind, damage, path: paths[Math.floor(random() * paths.length)]! }
}

/** Damages a copy of the directory. @returns what was done, or null if the damage does not apply to this file */
export async function inflict(
  { kind, path, damage, number }: Fault,
  copy: string,
  world: World,
  seed: number,
): Promise<string | null> {
  const random = numbers(seed * 7_919 + number)
  const target = join(copy, path)
  if (damage === 'deleted') {
    await rm(target, { recursive: true })
    return 'deleted'
  }
  if (damage === 'older') return replaceByOlder(path, copy, world)
  if (kind.endsWith('/')) return null
  const { size } = await stat(target)
  // An empty file cannot be cut or flipped, so it gets an extra byte.
  if (size === 0) {
    await writeFile(target, '\0')
    return 'one byte in an empty file'
  }
  switch (damage) {
    case 'bit flipped': {
      const bytes = await readFile(target)
      const at = Math.floor(random() * size)
      const bit = Math.floor(random() * 8)
      bytes[at]! ^= 1 << bit
      await writeFile(target, bytes)
      return `bit ${bit} of byte ${at} of ${size} flipped`
    }
    case 'cut by a byte':
      await truncate(target, size - 1)
      return `cut by one byte of ${size}`
    case 'cut in half':
      await truncate(target, Math.floor(size / 2))
      return `cut from ${size} bytes to ${Math.floor(size / 2)}`
    case 'emptied':
      await truncate(target, 0)
      return `cut from ${size} bytes to 0`
    case 'zeros': {
      const length = Math.min(size, ZEROED_BYTES_MAX)
      const from = Math.floor(random() * (size - length + 1))
      const file = await open(target, 'r+')
      await file.write(Buffer.alloc(length), 0, length, from)
      await file.close()
      return `${length} bytes from ${from} of ${size} zeroed`
    }
  }
}

/** Replaces a file or directory with its newest earlier version that differs. */
async function replaceByOlder(path: string, copy: string, { history }: World): Promise<string | null> {
  const now = await contentOf(join(copy, path))
  for (const [stage, directory] of [...history.entries()].reverse()) {
    const before = await contentOf(join(directory, path)).catch(() => null)
    if (before === null || before === now) continue
    await rm(join(copy, path), { recursive: true })
    await cp(join(directory, path), join(copy, path), { recursive: true })
    return `replaced with its version from stage ${stage}`
  }
  return swapWithSibling(path, copy)
}

/** Exchanges a file that never changed with another of its kind, as a mistaken restore does. */
async function swapWithSibling(path: string, copy: string): Promise<string | null> {
  for (const [, paths] of await kindsIn(copy)) {
    const other = paths.find((candidate) => candidate !== path)
    if (!paths.includes(path) || other === undefined) continue
    const aside = join(copy, `${path}.aside`)
    await rename(join(copy, path), aside)
    await rename(join(copy, other), join(copy, path))
    await rename(aside, join(copy, other))
    return `exchanged with ${other}`
  }
  return null
}

/** Returns all bytes below a path as one text, for comparison. */
async function contentOf(path: string): Promise<string> {
  if (!(await stat(path)).isDirectory()) return (await readFile(path)).toString('base64')
  const names = (await readdir(path)).toSorted()
  const contents = await Promise.all(names.map((name) => contentOf(join(path, name))))
  return JSON.stringify(names.map((name, at) => [name, contents[at]]))
}
