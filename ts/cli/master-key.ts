import { randomBytes } from 'node:crypto'
import { LaunchError, type LaunchOptions } from '../launch/index.js'

/** Minimum bytes of a master key. Shorter keys can be guessed. */
export const MASTER_KEY_BYTES_MIN = 16

/** The state of the master key, for the start screen. */
export type KeyState =
  | { readonly kind: 'protected' }
  | { readonly kind: 'short'; readonly bytes: number; readonly suggestion: string }
  | { readonly kind: 'open'; readonly suggestion: string }

/**
 * Checks the master key of `options`.
 * @throws LaunchError in production if the key is missing or too short; the message suggests a key
 */
export function judgeMasterKey({ masterKey, env }: Pick<LaunchOptions, 'masterKey' | 'env'>): KeyState {
  const bytes = Buffer.byteLength(masterKey ?? '')
  if (bytes >= MASTER_KEY_BYTES_MIN) return { kind: 'protected' }
  const suggestion = randomBytes(32).toString('base64url')
  if (env === 'production') {
    const found = masterKey === null ? 'none is set' : `the given key has ${bytes}`
    throw new LaunchError(
      `production needs a master key of at least ${MASTER_KEY_BYTES_MIN} bytes and ${found}; ` +
        `a new random key: --master-key ${suggestion}`,
      2,
    )
  }
  return masterKey === null ? { kind: 'open', suggestion } : { kind: 'short', bytes, suggestion }
}
