// Writes which commit is built, for `GET /version` and the start screen:
//
//   node scripts/build-info.mjs [FILE]
//
// The server reads dist/build-info.json, which is the default.
// COMMIT_SHA and COMMIT_DATE come first, for builds from an archive or an image without git; then the commit that is
// checked out; else the parts stay unknown.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

export function writeBuildInfo(file = join(root, 'dist', 'build-info.json')) {
  const { COMMIT_SHA, COMMIT_DATE } = process.env
  const commit = COMMIT_SHA ? {} : checkedOut()
  const info = {
    commitSha: COMMIT_SHA || commit.sha || 'unknown',
    commitDate: COMMIT_DATE || commit.date || 'unknown',
  }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(info)}\n`)
}

/** SHA and date of the commit that is checked out here; {} if this folder is no checkout of its own. */
function checkedOut() {
  if (!existsSync(join(root, '.git'))) return {}
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? ''
  const [sha, seconds] = git('show', '--no-patch', '--format=%H %ct', 'HEAD').split(' ')
  return seconds === undefined ? {} : { sha, date: new Date(Number(seconds) * 1000).toISOString() }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeBuildInfo(process.argv[2])
