/** Builds the page before the first test that needs it. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

let isBuilt = false

/** Builds the page once per process. Skipped if the sources have not changed. */
export function buildPage(): void {
  if (isBuilt) return
  const script = fileURLToPath(new URL('../../../../scripts/build-page.mjs', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`cannot build the page: ${stderr}`)
  isBuilt = true
}
