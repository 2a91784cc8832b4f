import { readFileSync } from 'node:fs'
import { LaunchError } from '../launch/index.js'
import { isHttpUrl } from '../parse/index.js'

/** The flag that names an instance, such as `from` of `--from`, `--from-key` and `--from-key-file`. */
export type PeerFlag = 'from' | 'to' | 'left' | 'right'

/** An instance as a command line names it. */
export interface PeerFlags {
  readonly flag: PeerFlag
  readonly url: string
  readonly key: string | null
}

/** The options of an instance, for `readFlags`. */
export function peerOptions<F extends PeerFlag>(flag: F) {
  const text = { type: 'string' } as const
  const options = { [flag]: text, [`${flag}-key`]: text, [`${flag}-key-file`]: text }
  return options as Record<F | `${F}-key` | `${F}-key-file`, typeof text>
}

/**
 * The instance that the flags name.
 * @param fallback the URL if none is given; null: one must be given
 * @throws LaunchError with exit code 2; it shows no key
 */
export function peerFlags(
  flag: PeerFlag,
  values: Readonly<Record<string, unknown>>,
  fallback: string | null,
): PeerFlags {
  const url = values[flag] ?? fallback
  if (typeof url !== 'string')
    throw new LaunchError(`--${flag} is missing: the URL of an instance, such as http://localhost:7700`, 2)
  if (!isHttpUrl(url))
    throw new LaunchError(`--${flag} is not a URL of http or https, such as http://localhost:7700`, 2)
  const key = values[`${flag}-key`]
  const file = values[`${flag}-key-file`]
  if (typeof key === 'string' && typeof file === 'string')
    throw new LaunchError(`--${flag}-key and --${flag}-key-file exclude each other`, 2)
  return {
    flag,
    url,
    key: typeof file === 'string' ? keyIn(file, flag) : typeof key === 'string' ? key : null,
  }
}

function keyIn(path: string, flag: PeerFlag): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new LaunchError(`--${flag}-key-file: ${path} cannot be read: ${code}`, 2)
  }
  if (text === '' || /\s/.test(text))
    throw new LaunchError(`--${flag}-key-file: ${path} must hold a key and nothing else`, 2)
  return text
}
