/** Compares siftd in-process with alternative Node.js libraries, which are installed on demand. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { trialProcess } from './process.js'
import type { LibraryFigures } from './report/figures.js'

const packages = ['minisearch@7.2.0', '@orama/orama@3.1.18']
const cache = fileURLToPath(new URL('../../node_modules/.cache/siftd-libraries', import.meta.url))

async function installed(): Promise<string> {
  const folder = join(cache, packages.join('-').replaceAll(/[@/]/g, '_'))
  const mark = join(folder, 'installed')
  if (existsSync(mark)) return folder
  await mkdir(folder, { recursive: true })
  // npm installs into the folder of the nearest manifest.
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', ...packages], {
    cwd: folder,
    shell: process.platform === 'win32',
  })
  await writeFile(mark, '')
  return folder
}

/**
 * Measures each library in a fresh process, in sequence.
 * @param titles number of titles to search in each spelling
 */
export async function compareLibraries(
  engines: readonly string[],
  documents: string,
  titles: number,
): Promise<readonly LibraryFigures[]> {
  const folder = await installed()
  const figures: LibraryFigures[] = []
  for (const name of [...engines, 'minisearch', 'orama'])
    figures.push(
      await trialProcess<LibraryFigures>('library-trial', [name, documents, String(titles), folder]),
    )
  return figures
}
