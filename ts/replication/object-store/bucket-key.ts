import { LaunchError } from '../../launch/index.js'
import { KEY_BYTES } from './sealed-store.js'

const HOW = 'make one with `openssl rand -base64 32`'
const HEX = /^[0-9a-fA-F]{64}$/
const BASE64 = /^[A-Za-z0-9+/]{43}=?$/
const PRINTABLE = /^[\x20-\x7e\s]*$/

/**
 * Reads the key of a bucket from a file with 32 bytes, raw or in base64 or hexadecimal.
 * @param readFile returns null if the file does not exist
 * @throws LaunchError that says how to make a key, and never shows the content of the file
 */
export function bucketKey(path: string, readFile: (path: string) => Uint8Array | null): Buffer {
  const refused = (why: string): LaunchError => new LaunchError(`--bucket-key-file: ${why}; ${HOW}`, 2)
  const found = readFile(path)
  if (found === null) throw refused(`there is no file ${path}`)
  const bytes = Buffer.from(found)
  const text = bytes.toString('latin1').trim()
  const key = HEX.test(text)
    ? Buffer.from(text, 'hex')
    : BASE64.test(text)
      ? Buffer.from(text, 'base64')
      : bytes
  if (key.length !== KEY_BYTES)
    throw refused(`${path} does not hold a key of ${KEY_BYTES} bytes, in base64 or hexadecimal`)
  // Refuses passwords, which are easier to guess than random bytes. About one random key in 6e13 looks like text.
  if (key === bytes && PRINTABLE.test(bytes.toString('latin1')))
    throw refused(`${path} holds ${KEY_BYTES} characters of text, not ${KEY_BYTES} random bytes`)
  if (key.every((byte) => byte === key[0])) throw refused(`${path} holds one byte ${KEY_BYTES} times`)
  return key
}
