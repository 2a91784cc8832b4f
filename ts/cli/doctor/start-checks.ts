/** Checks of `siftd doctor` for a start: binary, directory, address, key, certificate. */
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { access, constants, readFile, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { addonAdvice, loadAddon } from '../../engine/index.js'
import {
  entriesOf,
  readVersion,
  recordedEngine,
  requireVersion,
  type WrittenVersion,
} from '../../instance/index.js'
import { addressText, LaunchError, type LaunchOptions, packageVersion } from '../../launch/index.js'
import { claimDirectory, DirectoryInUseError } from '../../tasks/index.js'
import { readTlsFiles } from '../../tls/index.js'
import { requireFreeAddress } from '../free-address.js'
import { MASTER_KEY_BYTES_MIN } from '../master-key.js'
import { bad, type Finding, good, odd, size } from './finding.js'

/** With less free disk space, in bytes, an import may not fit. */
const FREE_BYTES_MIN = 2 ** 30

/** Days before expiry from which a certificate should be renewed. */
const RENEWAL_DAYS = 14

const DAY_MS = 86_400_000

export function checkBinary({ engine }: LaunchOptions): readonly Finding[] {
  const loaded = loadAddon()
  if (loaded.ok) return [good('native engine', `loaded ${loaded.from}`)]
  const advice = addonAdvice('engine')
  const found = loaded.reasons.join('; ')
  const fix =
    advice === null
      ? 'nothing to do: the fallback engine answers the same, more slowly'
      : `install the binary: ${advice}; without it the fallback engine answers the same, more slowly`
  return [(engine === 'native' ? bad : odd)('native engine', found, fix)]
}

export async function checkDirectory(options: LaunchOptions): Promise<readonly Finding[]> {
  const directory = resolve(options.dbPath)
  const entries = await entriesOf(directory).catch(
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  )
  if (typeof entries === 'string')
    return [
      bad('directory', `${directory} cannot be read: ${entries}`, 'choose another --db-path, or its owner'),
    ]
  const existing = entries.length > 0 ? directory : existingAbove(directory)
  return [await contentOf(directory, entries, options), ...(await usable(existing))]
}

/** Returns the nearest existing parent directory. A start creates the directories below it. */
function existingAbove(directory: string): string {
  const above = dirname(directory)
  return existsSync(above) || above === directory ? above : existingAbove(above)
}

async function contentOf(
  directory: string,
  entries: readonly string[],
  { engine, upgradeDb }: LaunchOptions,
): Promise<Finding> {
  if (entries.length === 0) return good('directory', `${directory} is made by the first start`)
  if (!entries.includes('tasks') && !entries.includes('indexes'))
    return bad(
      'directory',
      `${directory} holds other files`,
      'choose another --db-path: an empty or a new one',
    )
  let written: WrittenVersion
  try {
    written = await readVersion(directory)
    requireVersion(written, { version: packageVersion(), upgrade: upgradeDb }, directory)
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    return bad(
      'directory',
      error.message,
      'run siftd repair --db-path … if the file VERSION is lost or damaged',
    )
  }
  const kind = await recordedEngine(directory)
  if (engine !== 'auto' && kind !== null && kind !== engine)
    return bad('directory', `${directory} is of the ${kind} engine`, `start with --engine ${kind}`)
  const facts = `${directory}, version ${written.version}, ${kind ?? 'unknown'} engine`
  try {
    const release = await claimDirectory(directory)
    release()
  } catch (error) {
    if (!(error instanceof DirectoryInUseError)) throw error
    return good('directory', `${facts}; a server has it open`)
  }
  return good('directory', facts)
}

/** Checks that a directory is writable and has free space. */
async function usable(directory: string): Promise<readonly Finding[]> {
  try {
    await access(directory, constants.W_OK | constants.X_OK)
    const { bavail, bsize, blocks } = await statfs(directory)
    const found = `${size(bavail * bsize)} of ${size(blocks * bsize)} are free`
    const fix = 'free some space, or choose a --db-path on another disk'
    return [bavail * bsize < FREE_BYTES_MIN ? odd('disk', found, fix) : good('disk', found)]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const fix = 'let the user that runs siftd write there: chown or chmod, or choose another --db-path'
    return [bad('disk', `${directory} cannot be written to: ${code}`, fix)]
  }
}

export async function checkAddress({ httpAddr }: LaunchOptions): Promise<readonly Finding[]> {
  const address = addressText(httpAddr)
  try {
    await requireFreeAddress(httpAddr)
    return [good('address', `${address} is free`)]
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    return [
      odd(
        'address',
        error.message,
        'nothing to do if that is the server itself; siftd indexes list queries it',
      ),
    ]
  }
}

export function checkKey({ masterKey, env }: LaunchOptions): readonly Finding[] {
  const bytes = Buffer.byteLength(masterKey ?? '')
  if (bytes >= MASTER_KEY_BYTES_MIN) return [good('master key', 'is set')]
  const found =
    masterKey === null ? 'none: anyone who can reach the address may do anything' : `has ${bytes} bytes`
  const fix = `set SVC_MASTER_KEY, or --master-key-file, to at least ${MASTER_KEY_BYTES_MIN} random bytes`
  return [(env === 'production' ? bad : odd)('master key', found, fix)]
}

export async function checkCertificate(options: LaunchOptions): Promise<readonly Finding[]> {
  const { sslCertPath, sslKeyPath } = options
  // A certificate without key or the reverse is reported as a configuration mistake.
  if (sslCertPath === null || sslKeyPath === null) return []
  try {
    await readTlsFiles(options)
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    return [bad('certificate', error.message, 'correct the files of --ssl-cert-path and --ssl-key-path')]
  }
  const certificate = new X509Certificate(await readFile(sslCertPath))
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  const found = `valid from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}`
  if (Date.now() > to)
    return [bad('certificate', `${found}: it has expired`, 'renew it; the server reloads it')]
  if (Date.now() < from) return [bad('certificate', `${found}: not yet`, 'wait, or check the clock')]
  return to - Date.now() < RENEWAL_DAYS * DAY_MS
    ? [odd('certificate', `${found}: it expires soon`, 'renew it; the server reloads it')]
    : [good('certificate', found)]
}
