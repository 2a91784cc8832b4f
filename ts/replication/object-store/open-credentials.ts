import { type Credentials, credentialsOfFile, credentialsOfVariables, noCredentials } from './credentials.js'
import { REFRESH_BEFORE_MS, REFRESH_PAUSE_MS } from './limits.js'
import { BucketError } from './object-store.js'
import {
  containerRole,
  machineRole,
  type Source,
  type SourceSetup,
  type Temporary,
  webIdentity,
} from './temporary-credentials.js'

/**
 * Opens the first configured source of credentials, in this order: environment variables, web identity, credentials
 * file, container role, machine role (EC2).
 * @param now milliseconds since 1970
 * @returns a function that returns credentials that have not expired. It throws BucketError if the service does not
 * issue them, and LaunchError if no metadata service answers either
 * @throws LaunchError if no source is configured, or the configuration is invalid
 */
export function openCredentials(
  setup: SourceSetup,
  now: () => number = Date.now,
): () => Promise<Credentials> {
  const { env, readText } = setup
  const permanent = (found: Credentials) => async () => found
  const variables = credentialsOfVariables(env)
  if (variables !== null) return permanent(variables)
  const identity = webIdentity(setup)
  if (identity !== null) return refreshed(identity, now)
  const file = credentialsOfFile(env, readText)
  if (typeof file !== 'string') return permanent(file)
  const container = containerRole(setup)
  if (container !== null) return refreshed(container, now)
  const machine = machineRole(setup)
  if (machine === null) throw noCredentials([file])
  return refreshed(orNoCredentials(machine, file), now)
}

/**
 * Outside EC2 there is no metadata service. Until it has answered once, a failure means that there are no credentials.
 */
function orNoCredentials(machine: Source, file: string): Source {
  let hasAnswered = false
  return async () => {
    try {
      const found = await machine()
      hasAnswered = true
      return found
    } catch (error) {
      if (hasAnswered || !(error instanceof BucketError)) throw error
      throw noCredentials([file, error.message])
    }
  }
}

/**
 * Caches credentials and refreshes them before they expire, with one call for all callers. The cached credentials are
 * returned until they expire, also while a refresh is in progress or fails.
 */
function refreshed(source: Source, now: () => number): () => Promise<Credentials> {
  let held: Temporary | null = null
  let asking: Promise<Temporary> | null = null
  let askedAt = Number.NEGATIVE_INFINITY

  async function fetched(): Promise<Temporary> {
    try {
      held = await source()
      return held
    } finally {
      asking = null
    }
  }

  function ask(): Promise<Temporary> {
    askedAt = now()
    asking ??= fetched()
    return asking
  }

  return async () => {
    const left = held === null ? 0 : (held.expiresAt ?? Number.POSITIVE_INFINITY) - now()
    if (held === null || left <= 0) return ask()
    const isDue = left <= REFRESH_BEFORE_MS && Math.abs(now() - askedAt) >= REFRESH_PAUSE_MS
    if (isDue && asking === null) ask().catch(() => undefined)
    return held
  }
}
