/** A file in the data directory marks a copy that follows the log of a bucket. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LaunchError } from '../launch/index.js'
import { replaceFile, textOf } from './files.js'

type CopyState =
  /** The copy is being made and cannot be used yet. */
  | 'copying'
  /** The copy is consistent with some position of the log. */
  | 'whole'
  /** Consistent copy of a former leader: stays a follower until an operator makes it take over. */
  | 'superseded'

const FILE = 'following'

/** Returns null if the directory is not a copy. */
export async function copyState(directory: string): Promise<CopyState | null> {
  const text = await textOf(join(directory, FILE))
  const stage = text?.trim() ?? null
  return stage === null || stage === 'whole' || stage === 'superseded' ? stage : 'copying'
}

/** @param stage null: the directory has its own history from now on */
export async function setCopyState(directory: string, stage: CopyState | null): Promise<void> {
  if (stage === null) await rm(join(directory, FILE), { force: true })
  else await replaceFile(join(directory, FILE), `${stage}\n`)
}

/** Turns a copy into a directory with its own history. @throws LaunchError if the copy is unfinished */
export async function endCopying(directory: string): Promise<void> {
  const stage = await copyState(directory)
  if (stage === 'copying')
    throw new LaunchError(
      `${directory} is an unfinished copy of a bucket; start with --bucket to finish it, or choose another --db-path`,
      1,
    )
  if (stage !== null) await setCopyState(directory, null)
}
