/** A data directory that follows the log of a bucket has a file that says so. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LaunchError } from '../launch/index.js'
import { replaceFile, textOf } from './files.js'

/** How far a copy is. */
export type CopyStage =
  /** It is being made, and of no use before that has ended. */
  | 'copying'
  /** It is what the log told at some time. */
  | 'whole'
  /** It is whole, and of a server that another one has taken over from: it follows until it is told to take over. */
  | 'superseded'

const FILE = 'following'

/** null: the directory is no copy. */
export async function copyStage(directory: string): Promise<CopyStage | null> {
  const text = await textOf(join(directory, FILE))
  const stage = text?.trim() ?? null
  return stage === null || stage === 'whole' || stage === 'superseded' ? stage : 'copying'
}

/** @param stage null: the directory has its own history from now on */
export async function setCopyStage(directory: string, stage: CopyStage | null): Promise<void> {
  if (stage === null) await rm(join(directory, FILE), { force: true })
  else await replaceFile(join(directory, FILE), `${stage}\n`)
}

/** Makes a copy, if the directory is one, a directory with its own history. @throws LaunchError if it is not whole */
export async function endCopying(directory: string): Promise<void> {
  const stage = await copyStage(directory)
  if (stage === 'copying')
    throw new LaunchError(
      `${directory} is an unfinished copy of a bucket; start with --bucket to finish it, or choose another --db-path`,
      1,
    )
  if (stage !== null) await setCopyStage(directory, null)
}
