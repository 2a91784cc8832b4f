// Runs the steps of a check: runs commands, shows their output, counts tests and repeats failures at the end.
import { spawn } from 'node:child_process'
import { needsShell, root } from './setup.mjs'

/** Limits for the repeated failures of a step at the end. The repetition helps if the beginning of a log is cut. */
const repeated = { tests: 10, lines: 12, width: 300 }
/** A command that runs longer hangs. It is killed, so that the check ends and names it. */
const limitMinutes = 45

const total = { passed: 0, failed: 0 }
const problems = []
const unstable = []
const times = []

/** Counts a failure outside a test runner. */
export function fail(text) {
  total.failed += 1
  problems.push(text)
}

/**
 * Runs one step.
 * @param counts patterns of the runner's counts in its output. Without them a failed command counts as one failure
 * @param retry if given, gets the output of a failed run and returns the arguments of a second run, or null. If it
 *   passes, `finish` lists what failed in the first run as unstable
 * @param isQuiet true to show the output only when the command has ended, for concurrent steps
 */
export async function step(name, command, args, { counts, env, retry, isQuiet = false } = {}) {
  if (!isQuiet) process.stdout.write(`\n── ${name}\n`)
  const began = Date.now()
  const { code, output } = await watch(command, args, env, isQuiet)
  if (isQuiet) process.stdout.write(`\n── ${name}\n${output}`)
  took(name, began)
  // Removes colour codes, which may separate a count from its word.
  const plain = output.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), '')
  const again = code === 0 ? null : (retry?.(plain) ?? null)
  if (again !== null) {
    process.stdout.write(`\n── ${name}: second run of what failed\n`)
    if ((await watch(command, again, env, isQuiet)).code === 0) {
      unstable.push(report(name, sum(plain, counts.failed), plain))
      total.passed += sum(plain, counts.passed)
      return
    }
  }
  const passed = counts ? sum(plain, counts.passed) : 0
  const failed = counts ? sum(plain, counts.failed) : 0
  total.passed += passed
  total.failed += failed
  if (failed > 0) problems.push(report(name, failed, plain))
  if (code !== 0 && failed === 0)
    fail([`${name}: ended with ${code}`, ...plain.trimEnd().split('\n').slice(-repeated.lines)].join('\n  '))
  if (code === 0 && counts && passed === 0) fail(`${name}: no test ran`)
}

/** Records the duration of something that began at `began`, in milliseconds since 1970. */
export function took(name, began) {
  const seconds = Math.round((Date.now() - began) / 1000)
  times.push([name, seconds])
  process.stdout.write(`── ${name}: ${seconds} s\n`)
}

/** Prints times, failures and, as the last line, the counts. Ends the process. */
export function finish() {
  process.stdout.write(
    `\n${times.map(([name, seconds]) => `${String(seconds).padStart(5)} s  ${name}`).join('\n')}\n`,
  )
  for (const text of unstable) process.stdout.write(`\n⚠ unstable, passed in a second run: ${text}\n`)
  if (problems.length > 0) process.stdout.write(`\n${problems.map((line) => `✘ ${line}`).join('\n')}\n`)
  process.stdout.write(`\n${total.passed} passed, ${total.failed} failed\n`)
  process.exit(total.failed === 0 ? 0 : 1)
}

const report = (name, failed, output) => [`${name}: ${failed} failed`, ...failures(output)].join('\n  ')

/** Runs a command. @returns its exit code and output */
function watch(command, args, env, isQuiet) {
  return new Promise((resolve) => {
    const shell = needsShell(command)
    const child = spawn(command, args, { cwd: root, env: { ...process.env, ...env }, shell })
    let output = ''
    for (const [from, to] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ]) {
      from.setEncoding('utf8')
      from.on('data', (text) => {
        output += text
        if (!isQuiet) to.write(text)
      })
    }
    const hangs = setTimeout(() => {
      output += `\nnot ended after ${limitMinutes} minutes\n`
      child.kill('SIGKILL')
      // Processes that the command has started may keep its output open.
      for (const stream of [child.stdout, child.stderr]) stream.destroy()
    }, limitMinutes * 60_000)
    child.on('error', (error) => resolve({ code: 1, output: String(error) }))
    child.on('close', (code) => {
      clearTimeout(hangs)
      resolve({ code: code ?? 1, output })
    })
  })
}

/** Sums all counts that match `pattern`. */
const sum = (output, pattern) =>
  [...output.matchAll(pattern)].reduce((found, [, digits]) => found + Number(digits), 0)

/** Returns the output about failed tests, from ava's TAP or cargo's section for each test. */
function failures(output) {
  const found = []
  let open = false
  for (const line of output.split('\n')) {
    const begins = /^not ok |^---- .* stdout ----$/.test(line)
    if (begins) found.push([])
    open = begins || (open && !/^(ok \d|\d+\.\.|# |failures:|test result:)/.test(line))
    if (open && line.trim() !== '') found.at(-1).push(line.slice(0, repeated.width))
  }
  return found.slice(0, repeated.tests).flatMap((lines) => lines.slice(0, repeated.lines))
}
