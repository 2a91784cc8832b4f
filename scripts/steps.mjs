// Steps of a check: each runs a command, shows its output, counts its tests and repeats its failures at the end.
import { spawn } from 'node:child_process'
import { root } from './setup.mjs'

/** Limits of what is repeated of a step's failures at the end, for logs that are cut at their beginning. */
const repeated = { tests: 10, lines: 12, width: 300 }

const total = { passed: 0, failed: 0 }
const problems = []
const times = []

/** Counts a failure that no test runner counted. */
export function fail(text) {
  total.failed += 1
  problems.push(text)
}

/**
 * Runs one step.
 * @param counts patterns that find the runner's own counts in its output; without them a failed command counts as one
 * @param isQuiet shows the output only when the command has ended, for steps that run at the same time as others
 */
export async function step(name, command, args, { counts, env, isQuiet = false } = {}) {
  if (!isQuiet) process.stdout.write(`\n── ${name}\n`)
  const began = Date.now()
  const { code, output } = await watch(command, args, env, isQuiet)
  if (isQuiet) process.stdout.write(`\n── ${name}\n${output}`)
  took(name, began)
  // A colour code would stand between a count and its word.
  const plain = output.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), '')
  const passed = counts ? sum(plain, counts.passed) : 0
  const failed = counts ? sum(plain, counts.failed) : 0
  total.passed += passed
  total.failed += failed
  if (failed > 0) problems.push([`${name}: ${failed} failed`, ...failures(plain)].join('\n  '))
  if (code !== 0 && failed === 0)
    fail([`${name}: ended with ${code}`, ...plain.trimEnd().split('\n').slice(-repeated.lines)].join('\n  '))
  if (code === 0 && counts && passed === 0) fail(`${name}: no test ran`)
}

/** Notes how long something took since `began`, in milliseconds since 1970. */
export function took(name, began) {
  const seconds = Math.round((Date.now() - began) / 1000)
  times.push([name, seconds])
  process.stdout.write(`── ${name}: ${seconds} s\n`)
}

/** Prints times, failures and, as the last line, the count; ends the process. */
export function finish() {
  process.stdout.write(
    `\n${times.map(([name, seconds]) => `${String(seconds).padStart(5)} s  ${name}`).join('\n')}\n`,
  )
  if (problems.length > 0) process.stdout.write(`\n${problems.map((line) => `✘ ${line}`).join('\n')}\n`)
  process.stdout.write(`\n${total.passed} passed, ${total.failed} failed\n`)
  process.exit(total.failed === 0 ? 0 : 1)
}

/** Runs a command and returns its exit code and output. */
function watch(command, args, env, isQuiet) {
  return new Promise((resolve) => {
    const shell = process.platform === 'win32'
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
    child.on('error', (error) => resolve({ code: 1, output: String(error) }))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

/** Sums every count that `pattern` finds. */
const sum = (output, pattern) =>
  [...output.matchAll(pattern)].reduce((found, [, digits]) => found + Number(digits), 0)

/** Output about the tests that failed: of ava in TAP, of cargo below a headline for each test. */
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
