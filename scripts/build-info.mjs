// Writes the commit of the build, for `GET /version` and the start screen:
//
//   node scripts/build-info.mjs [FILE]
//
// The default is dist/build-info.json, which the server reads.
// Uses COMMIT_SHA and COMMIT_DATE if set, for builds from an archive or without git; otherwise the checked-out commit;
// otherwise `unknown`.
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

/** Returns SHA and date of the checked-out commit; {} if this folder is not a git checkout. */
function checkedOut() {
  if (!existsSync(join(root, '.git'))) return {}
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? ''
  const [sha, seconds] = git('show', '--no-patch', '--format=%H %ct', 'HEAD').split(' ')
  return seconds === undefined ? {} : { sha, date: new Date(Number(seconds) * 1000).toISOString() }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeBuildInfo(process.argv[2])
