import { readFile } from 'node:fs/promises'
import type { TlsOptions } from 'node:tls'
import { LaunchError, type LaunchOptions } from '../launch/index.js'

type SslOptions = Pick<
  LaunchOptions,
  | 'sslCertPath'
  | 'sslKeyPath'
  | 'sslAuthPath'
  | 'sslOcspPath'
  | 'sslRequireAuth'
  | 'sslResumption'
  | 'sslTickets'
>

/** TLS settings from the launch options. */
export interface Tls {
  readonly server: TlsOptions
  /** The OCSP response to staple, in DER; null: none. */
  readonly ocsp: Buffer | null
}

/**
 * Reads the TLS files; null unless certificate and key are both given.
 * @throws LaunchError naming the option whose file cannot be read
 */
export async function readTls(options: SslOptions): Promise<Tls | null> {
  const { sslCertPath, sslKeyPath, sslAuthPath, sslOcspPath } = options
  if (sslCertPath === null || sslKeyPath === null) return null
  const cert = await fileOf('--ssl-cert-path', sslCertPath)
  const key = await fileOf('--ssl-key-path', sslKeyPath)
  const ca = sslAuthPath === null ? null : await fileOf('--ssl-auth-path', sslAuthPath)
  const ocsp = sslOcspPath === null ? null : await fileOf('--ssl-ocsp-path', sslOcspPath)
  const server: TlsOptions = {
    cert,
    key,
    ...(ca !== null && { ca, requestCert: true, rejectUnauthorized: options.sslRequireAuth }),
    // A session cannot be resumed on another connection unless an option allows it.
    ...(!options.sslResumption && !options.sslTickets && { sessionTimeout: 1 }),
  }
  return { server, ocsp }
}

async function fileOf(option: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new LaunchError(`${option}: \`${path}\` cannot be read: ${code}`, 1)
  }
}
