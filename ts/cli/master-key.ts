import { randomBytes } from 'node:crypto'
import { LaunchError, type LaunchOptions } from '../settings/index.js'

/** Bytes below which a master key can be guessed. */
export const MASTER_KEY_BYTES_MIN = 16

/** What the start-up screen says about the master key. */
export type KeyState =
  | { readonly kind: 'protected' }
  | { readonly kind: 'short'; readonly bytes: number; readonly suggestion: string }
  | { readonly kind: 'open'; readonly suggestion: string }

/**
 * Judges the master key of `options`.
 * @throws LaunchError in production without a key of enough bytes; its message holds a suggestion
 */
export function judgeMasterKey({ masterKey, env }: Pick<LaunchOptions, 'masterKey' | 'env'>): KeyState {
  const bytes = Buffer.byteLength(masterKey ?? '')
  if (bytes >= MASTER_KEY_BYTES_MIN) return { kind: 'protected' }
  const suggestion = randomBytes(32).toString('base64url')
  if (env === 'production') {
    const found = masterKey === null ? 'there is none' : `the one given has ${bytes}`
    throw new LaunchError(
      `production needs a master key of at least ${MASTER_KEY_BYTES_MIN} bytes and ${found}; ` +
        `a fresh one to use: --master-key ${suggestion}`,
      1,
    )
  }
  return masterKey === null ? { kind: 'open', suggestion } : { kind: 'short', bytes, suggestion }
}
