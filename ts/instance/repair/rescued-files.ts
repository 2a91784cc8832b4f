/** Writes the readable data of an index to files for the user. */

import { existsSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Rescued } from '../../engine/index.js'
import { syncDirectory } from '../../engine/index.js'
import { defaultIndexSettings, type IndexSettings, parsedSettings } from '../../settings/index.js'
import { settingsAsSet } from '../backup/index.js'

/** The directory of rescued documents, below the data directory. */
export const RESCUED_DIRECTORY = 'rescued'

/** Prefix of the names of unfinished files. */
export const UNFINISHED_PREFIX = '.repair-'

interface RescuedFiles {
  /** Path of NDJSON. */
  readonly documents: string
  /** Path of the changed settings, in the form of the API, with secrets. */
  readonly settings: string
}

/** Gives rescued documents a new, unused name, and writes the settings next to them. */
export async function writeRescued(
  uid: string,
  rescued: Rescued,
  documents: string,
  directory: string,
): Promise<RescuedFiles> {
  const folder = join(directory, RESCUED_DIRECTORY)
  const pathsOf = (name: string): RescuedFiles => ({
    documents: join(folder, `${name}.ndjson`),
    settings: join(folder, `${name}.settings.json`),
  })
  // A catalogue imported by an earlier version may contain any name.
  const name = uid.replace(/[^\w-]/g, '_')
  let paths = pathsOf(name)
  for (let number = 2; existsSync(paths.documents) || existsSync(paths.settings); number++)
    paths = pathsOf(`${name}-${number}`)
  const settings = changedSettings(parsedSettings(rescued.settings))
  const unfinished = `${documents}.settings`
  await writeFile(unfinished, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(unfinished, paths.settings)
  await rename(documents, paths.documents)
  await syncDirectory(folder)
  return paths
}

/**
 * Returns the settings that differ from those of a new index. Some others would be refused while their feature is off.
 */
function changedSettings(settings: IndexSettings): object {
  const defaults = new Map(Object.entries(settingsAsSet(defaultIndexSettings)))
  return Object.fromEntries(
    Object.entries(settingsAsSet(settings)).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults.get(name)),
    ),
  )
}
