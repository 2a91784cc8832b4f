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

export interface CredentialsSetup extends SourceSetup {
  /** Milliseconds since 1970. Default: of this machine. */
  readonly now?: () => number
}

/**
 * Where credentials come from, in this order: variables, a web identity, the usual file, the role of a container, the role of
 * a machine. The first that is configured is the only one that is asked.
 * @returns credentials that have not expired. It throws BucketError if the service does not give them, and LaunchError if
 * there is no such service either
 * @throws LaunchError if there are none, or what is configured cannot be used
 */
export function openCredentials(setup: CredentialsSetup): () => Promise<Credentials> {
  const { env, readText, now = Date.now } = setup
  const lasting = (found: Credentials) => async () => found
  const variables = credentialsOfVariables(env)
  if (variables !== null) return lasting(variables)
  const identity = webIdentity(setup)
  if (identity !== null) return refreshed(identity, now)
  const file = credentialsOfFile(env, readText)
  if (typeof file !== 'string') return lasting(file)
  const container = containerRole(setup)
  if (container !== null) return refreshed(container, now)
  const machine = machineRole(setup)
  if (machine === null) throw noCredentials([file])
  return refreshed(firstly(machine, file), now)
}

/** A machine that is none of EC2 has no such service: as long as none has answered, there are no credentials. */
function firstly(machine: Source, file: string): Source {
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
 * Asks once for all that wait, and again before what it got expires. Until then the old ones are given, whether or not the
 * source answers.
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
