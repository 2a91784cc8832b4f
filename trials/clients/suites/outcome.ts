/** The result of a test suite, read from its output. */

export interface SuiteOutcome {
  /** Names of tests without subtests. */
  readonly passed: readonly string[]
  readonly failed: readonly string[]
  readonly skipped: readonly string[]
}

type Verdict = keyof SuiteOutcome

const outcomeOf = (verdicts: ReadonlyMap<string, Verdict>): SuiteOutcome => {
  const named = (wanted: Verdict) =>
    [...verdicts].filter(([, verdict]) => verdict === wanted).map(([name]) => name)
  return { passed: named('passed'), failed: named('failed'), skipped: named('skipped') }
}

const goVerdicts: Readonly<Record<string, Verdict>> = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' }

/** Parses the output of `go test -v`. A test that has subtests is not counted, only they are. */
export function goOutcome(output: string): SuiteOutcome {
  const verdicts = new Map<string, Verdict>()
  for (const [, verdict = '', name = ''] of output.matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+) \(/gm))
    verdicts.set(name, goVerdicts[verdict]!)
  for (const name of [...verdicts.keys()]) {
    const parent = name.lastIndexOf('/')
    if (parent !== -1) verdicts.delete(name.slice(0, parent))
  }
  return outcomeOf(verdicts)
}

const rustVerdicts: Readonly<Record<string, Verdict>> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' }

/** Parses the output of `cargo test`. */
export function rustOutcome(output: string): SuiteOutcome {
  const verdicts = new Map<string, Verdict>()
  for (const [, name = '', verdict = ''] of output.matchAll(/^test (\S+) \.\.\. (ok|FAILED|ignored)/gm))
    verdicts.set(name, rustVerdicts[verdict]!)
  return outcomeOf(verdicts)
}

export interface KnownFailure {
  readonly reason: string
  /** Names of tests. */
  readonly tests: readonly string[]
}

export const knownTests = (known: readonly KnownFailure[]): readonly string[] =>
  known.flatMap(({ tests }) => tests)

/** Returns the failed tests that the list of known failures does not explain. */
export const unexplained = (failed: readonly string[], known: readonly KnownFailure[]): readonly string[] =>
  failed.filter((name) => !knownTests(known).includes(name))

/** Returns the known failures that did not fail. */
export const outdated = (failed: readonly string[], known: readonly KnownFailure[]): readonly string[] =>
  knownTests(known).filter((name) => !failed.includes(name))
