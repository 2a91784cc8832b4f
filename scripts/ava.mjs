// Entry point of ava with a fixed TAP reporter. The reporter of ava 6.4.1, the last version for Node 20, throws if
// tests hang or if an error has an undefined property, and then does not report the failed test. This one writes
// failures itself, and lists the slowest files and the failed ones at the end.
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root } from './setup.mjs'

const { default: TapReporter } = await import(`${root}/node_modules/ava/lib/reporters/tap.js`)
const { writeTest, consumeStateChange, endRun } = TapReporter.prototype
const files = new Map()
const failedFiles = new Set()

/** Types of events about a file in which something failed. */
const failures = new Set([
  'hook-failed',
  'missing-ava-import',
  'no-tests',
  'test-failed',
  'uncaught-exception',
  'unhandled-rejection',
  'worker-failed',
])

function writeFailure(reporter, title, lines) {
  reporter.i += 1
  const text = [`not ok ${reporter.i} - ${title}`, ...lines.flatMap((line) => line.split('\n'))].join(
    '\n  # ',
  )
  reporter.reportStream.write(`${stripVTControlCharacters(text)}\n`)
}

/** Returns the lines of an error from a test process. All its properties are optional. */
const linesOf = (error, logs = []) =>
  [
    ...logs,
    error?.message,
    ...(error?.formattedDetails ?? []).map(({ label, formatted }) => `${label}\n${formatted}`),
    error?.formattedError,
    error?.stack ?? error?.originalError?.stack,
  ].filter((part) => typeof part === 'string' && part !== '')

Object.assign(TapReporter.prototype, {
  writeTest(event, flags) {
    if (!event.err) return writeTest.call(this, event, flags)
    writeFailure(this, this.prefixTitle(event.testFile, event.title), linesOf(event.err, event.logs))
  },
  writeCrash(event, title) {
    this.crashCount += 1
    writeFailure(this, title ?? event.err?.message ?? event.type, linesOf(event.err, event.logs))
  },
  writeTimeout({ pendingTests, period }) {
    for (const [file, titles] of pendingTests) {
      failedFiles.add(file)
      for (const title of titles) {
        writeFailure(this, this.prefixTitle(file, title), [`did not end; no test ended for ${period} ms`])
      }
    }
  },
  consumeStateChange(event) {
    if (event.testFile) {
      const { first = Date.now() } = files.get(event.testFile) ?? {}
      files.set(event.testFile, { first, last: Date.now() })
      if (failures.has(event.type)) failedFiles.add(event.testFile)
    }
    return consumeStateChange.call(this, event)
  },
  endRun() {
    const times = [...files].map(([file, { first, last }]) => ({ file, seconds: (last - first) / 1000 }))
    const longest = times.sort((a, b) => b.seconds - a.seconds).slice(0, 25)
    for (const { file, seconds } of longest)
      this.reportStream.write(`# ${Math.round(seconds)} s in ${relative(root, file)}\n`)
    for (const file of failedFiles) this.reportStream.write(`# failed: ${relative(root, file)}\n`)
    return endRun.call(this)
  },
})

await import(`${root}/node_modules/ava/entrypoints/cli.mjs`)
