import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { LaunchError, type LaunchOptions } from '../launch/index.js'
import { contextOptions, type SessionOptions } from './context.js'

/** The launch options for TLS. */
export type SslOptions = SessionOptions &
  Pick<LaunchOptions, 'sslCertPath' | 'sslKeyPath' | 'sslAuthPath' | 'sslOcspPath' | 'sslRequireAuth'>

/** The checked contents of the files. */
export interface TlsFiles {
  readonly context: SecureContextOptions
  /** The OCSP response to staple, in DER; null: no stapling. */
  readonly ocsp: Buffer | null
  /** Problems that do not prevent a start. */
  readonly warnings: readonly string[]
}

/**
 * Reads the TLS files and checks their contents.
 * @returns null if neither certificate nor key is given
 * @throws LaunchError naming option and file
 */
export async function readTlsFiles(options: SslOptions): Promise<TlsFiles | null> {
  const { sslCertPath, sslKeyPath, sslAuthPath, sslOcspPath } = options
  // The option parser ensures that either both are given or none.
  if (sslCertPath === null || sslKeyPath === null) return null
  const chain = certificatesIn(await openFile('--ssl-cert-path', sslCertPath))
  const key = keyIn(await openFile('--ssl-key-path', sslKeyPath))
  const [leaf] = chain
  if (!leaf.checkPrivateKey(key)) {
    const isElsewhere = chain.some((one) => one.checkPrivateKey(key))
    const remedy = isElsewhere
      ? 'it matches a later certificate of that file; put that one first'
      : "expected the key of that file's first certificate"
    throw new LaunchError(
      `--ssl-key-path: \`${sslKeyPath}\` does not match the certificate in \`${sslCertPath}\`; ${remedy}`,
      1,
    )
  }
  const authorities =
    sslAuthPath === null ? null : certificatesIn(await openFile('--ssl-auth-path', sslAuthPath))
  const ocsp = sslOcspPath === null ? null : ocspResponseIn(await openFile('--ssl-ocsp-path', sslOcspPath))
  const context = contextOptions(
    {
      cert: pemOf(chain),
      key: key.export({ type: 'pkcs8', format: 'pem' }),
      ...(authorities !== null && { ca: pemOf(authorities) }),
    },
    options,
  )
  try {
    createSecureContext(context)
  } catch (error) {
    // OpenSSL refuses some valid files, for example keys that are too short to be secure.
    const reason = (error as { reason?: string }).reason ?? String(error)
    throw new LaunchError(`\`${sslCertPath}\` and \`${sslKeyPath}\` cannot be used for TLS: ${reason}`, 1)
  }
  return { context, ocsp, warnings: validityWarnings(sslCertPath, leaf) }
}

/** A file given by an option. */
interface NamedFile {
  readonly option: string
  readonly path: string
  readonly content: Buffer
}

async function openFile(option: string, path: string): Promise<NamedFile> {
  try {
    return { option, path, content: await readFile(path) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new LaunchError(`${option}: \`${path}\` cannot be read: ${code}`, 1)
  }
}

const refusal = ({ option, path }: NamedFile, what: string): LaunchError =>
  new LaunchError(`${option}: \`${path}\` ${what}`, 1)

/** Returns all certificates of a PEM file, at least one. */
function certificatesIn(file: NamedFile): readonly [X509Certificate, ...X509Certificate[]] {
  const text = file.content.toString('latin1')
  const found = text.split(/^(?=-----BEGIN CERTIFICATE-----)/m).flatMap((block) => {
    // Skip text before the first certificate, which PEM allows.
    if (!block.startsWith('-----BEGIN CERTIFICATE-----')) return []
    try {
      return new X509Certificate(block)
    } catch {
      throw refusal(file, 'holds a malformed certificate; expected PEM, complete from BEGIN to END')
    }
  })
  const [first, ...rest] = found
  if (first !== undefined) return [first, ...rest]
  const hint = text.includes('PRIVATE KEY-----') ? ' (it holds a private key)' : ''
  throw refusal(file, `holds no certificate${hint}; expected PEM, from -----BEGIN CERTIFICATE----- on`)
}

const pemOf = (certificates: readonly X509Certificate[]): string =>
  certificates.map((one) => one.toString()).join('')

/** Returns a private key in PKCS#8, PKCS#1 or SEC1. */
function keyIn(file: NamedFile): KeyObject {
  try {
    return createPrivateKey(file.content)
  } catch {
    // In PKCS#8 the label of the block says that it is encrypted, in older formats a header.
    if (/BEGIN ENCRYPTED PRIVATE KEY|^Proc-Type: 4,ENCRYPTED/m.test(file.content.toString('latin1'))) {
      throw refusal(file, 'is encrypted; expected a key without a passphrase')
    }
    const hint = file.content.includes('-----BEGIN CERTIFICATE') ? ' (it holds a certificate)' : ''
    throw refusal(file, `holds no readable private key${hint}; expected PEM: PKCS#8, RSA or EC`)
  }
}

/**
 * Checks that the file is a successful OCSP response:
 * `OCSPResponse ::= SEQUENCE { responseStatus ENUMERATED, responseBytes [0] EXPLICIT OPTIONAL }` (RFC 6960, 4.2.1).
 */
function ocspResponseIn(file: NamedFile): Buffer {
  const { content } = file
  const head = headOfSequence(content)
  const status = head === null ? undefined : content[head + 2]
  if (head === null || content[head] !== 0x0a || content[head + 1] !== 1 || status === undefined) {
    throw refusal(file, 'is not an OCSP response; expected DER, as `openssl ocsp -respout` writes it')
  }
  if (status !== 0)
    throw refusal(file, `is an OCSP response of failure, status ${status}; expected a successful one`)
  return content
}

/** Returns the bytes before the content of a DER sequence that fills `bytes`; null if it is not such a sequence. */
function headOfSequence(bytes: Buffer): number | null {
  const short = bytes[1]
  if (bytes[0] !== 0x30 || short === undefined) return null
  const digits = short < 0x80 ? 0 : short & 0x7f
  if (digits > 4 || bytes.length < 2 + digits) return null
  const length = digits === 0 ? short : bytes.readUIntBE(2, digits)
  return 2 + digits + length === bytes.length ? 2 + digits : null
}

function validityWarnings(path: string, leaf: X509Certificate): readonly string[] {
  const now = Date.now()
  if (Date.parse(leaf.validTo) < now) {
    return [`the certificate in ${path} expired on ${leaf.validTo}; clients will refuse it`]
  }
  if (Date.parse(leaf.validFrom) > now) {
    return [`the certificate in ${path} is not valid before ${leaf.validFrom}; clients will refuse it`]
  }
  return []
}
