import { readFileSync } from 'node:fs'
import test from 'ava'

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly resolved?: string
        readonly hasInstallScript?: boolean
        readonly optionalDependencies?: Readonly<Record<string, string>>
      }
    >
  >
}

const { packages } = JSON.parse(
  readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8'),
) as Lock

/** Returns optional dependencies without an entry. npm omits the entry if a registry lacks the package. */
function missingEntries(lock: Lock['packages']): readonly string[] {
  const paths = Object.keys(lock)
  return Object.entries(lock).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !paths.some((other) => other.endsWith(`node_modules/${name}`)))
      .map((name) => `${path || 'siftd'} → ${name}`),
  )
}

test('the lock has an entry for every optional dependency, so that npm ci works on every system', (t) => {
  t.deepEqual(missingEntries(packages), [])
  t.deepEqual(missingEntries({ 'node_modules/a': { optionalDependencies: { b: '1' } } }), [
    'node_modules/a → b',
  ])
})

test('the lock names no registry, and no package runs install scripts', (t) => {
  const entries = Object.entries(packages)
  t.deepEqual(
    entries.filter(([, { resolved }]) => resolved !== undefined),
    [],
  )
  t.deepEqual(
    entries.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path),
    [],
  )
})
