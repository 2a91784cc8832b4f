import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { LaunchError, type LaunchOptions } from '../launch/index.js'
import { contextOptions, type SessionOptions } from './context.js'

/** The launch options about TLS. */
export type SslOptions = SessionOptions &
  Pick<LaunchOptions, 'sslCertPath' | 'sslKeyPath' | 'sslAuthPath' | 'sslOcspPath' | 'sslRequireAuth'>

/** What the files hold, read and checked. */
export interface TlsFiles {
  readonly context: SecureContextOptions
  /** The OCSP response to staple, in DER; null: none. */
  readonly ocsp: Buffer | null
  /** Facts that do not forbid a start and that the operator should know. */
  readonly warnings: readonly string[]
}

/**
 * Reads the files of TLS and checks that each holds what it should.
 * @returns null if neither certificate nor key is given
 * @throws LaunchError naming option and file
 */
export async function readTlsFiles(options: SslOptions): Promise<TlsFiles | null> {
  const { sslCertPath, sslKeyPath, sslAuthPath, sslOcspPath } = options
  // The parser of the options lets neither stand alone.
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
    // What OpenSSL refuses although each file can be parsed, such as keys that are too short to be secure.
    const reason = (error as { reason?: string }).reason ?? String(error)
    throw new LaunchError(`\`${sslCertPath}\` and \`${sslKeyPath}\` cannot be used for TLS: ${reason}`, 1)
  }
  return { context, ocsp, warnings: validityWarnings(sslCertPath, leaf) }
}

/** A file that an option names. */
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

/** All certificates of a PEM file, at least one. */
function certificatesIn(file: NamedFile): readonly [X509Certificate, ...X509Certificate[]] {
  const text = file.content.toString('latin1')
  const found = text.split(/^(?=-----BEGIN CERTIFICATE-----)/m).flatMap((block) => {
    // Text before the first certificate, which is allowed.
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

/** A private key in PKCS#8, PKCS#1 or SEC1. */
function keyIn(file: NamedFile): KeyObject {
  try {
    return createPrivateKey(file.content)
  } catch {
    // PKCS#8 says so in the label of its block, older formats in a header.
    if (/BEGIN ENCRYPTED PRIVATE KEY|^Proc-Type: 4,ENCRYPTED/m.test(file.content.toString('latin1'))) {
      throw refusal(file, 'is encrypted; expected a key without a passphrase')
    }
    const hint = file.content.includes('-----BEGIN CERTIFICATE') ? ' (it holds a certificate)' : ''
    throw refusal(file, `holds no readable private key${hint}; expected PEM: PKCS#8, RSA or EC`)
  }
}

/**
 * A successful OCSP response:
 * `OCSPResponse ::= SEQUENCE { responseStatus ENUMERATED, responseBytes [0] EXPLICIT OPTIONAL }` (RFC 6960, 4.2.1).
 */
function ocspResponseIn(file: NamedFile): Buffer {
  const { content } = file
  const head = headOfSequence(content)
  const status = head === null ? undefined : content[head + 2]
  if (head === null || content[head] !== 0x0a || content[head + 1] !== 1 || status === undefined) {
    throw refusal(file, 'is no OCSP response; expected DER, as `openssl ocsp -respout` writes it')
  }
  if (status !== 0)
    throw refusal(file, `is an OCSP response of failure, status ${status}; expected a successful one`)
  return content
}

/** Bytes before the content of a DER sequence that fills `bytes`; null if it is none. */
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
