import { constants } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import type { LaunchOptions } from '../launch/index.js'
import { SESSION_SECONDS } from './limits.js'

/** The two ways to resume a session. */
export type SessionOptions = Pick<LaunchOptions, 'sslResumption' | 'sslTickets'>

/**
 * Cipher suites of TLS 1.3, and suites of TLS 1.2 with forward secrecy and authenticated encryption, as HTTP/2 requires
 * (RFC 9113, appendix A).
 */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** Returns the options of handshakes: certificates, versions, cipher suites and session tickets. */
export function contextOptions(
  files: Pick<SecureContextOptions, 'cert' | 'key' | 'ca'>,
  { sslTickets }: SessionOptions,
): SecureContextOptions {
  return {
    ...files,
    // Explicit, because an option of Node.js could lower its default.
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    sessionTimeout: SESSION_SECONDS,
    ...(!sslTickets && { secureOptions: constants.SSL_OP_NO_TICKET }),
  }
}
