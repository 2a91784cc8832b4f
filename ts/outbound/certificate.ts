/** Certificates that a call did not trust. */
import type { LookupFunction } from 'node:net'
import { connect, type PeerCertificate, rootCertificates } from 'node:tls'
import { CONNECT_TIMEOUT_MS } from './limits.js'

/** Codes of errors about a certificate, and whether the certificate of its authority helps. */
const faults: Readonly<Record<string, { readonly says: string; readonly isUnknownAuthority: boolean }>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: { says: 'is signed by itself', isUnknownAuthority: true },
  SELF_SIGNED_CERT_IN_CHAIN: { says: 'is of an unknown authority', isUnknownAuthority: true },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { says: 'is of an unknown authority', isUnknownAuthority: true },
  UNABLE_TO_GET_ISSUER_CERT: { says: 'is of an unknown authority', isUnknownAuthority: true },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: { says: 'is of an unknown authority', isUnknownAuthority: true },
  CERT_HAS_EXPIRED: { says: 'has expired', isUnknownAuthority: false },
  CERT_NOT_YET_VALID: { says: 'is not valid yet', isUnknownAuthority: false },
  CERT_REVOKED: { says: 'is revoked', isUnknownAuthority: false },
  ERR_TLS_CERT_ALTNAME_INVALID: { says: 'is for other names', isUnknownAuthority: false },
}

export const certificateFault = (code: unknown) => (typeof code === 'string' ? faults[code] : undefined)

/** Authorities to trust: those that Node.js has, and more. @param pem certificates of the others */
export const trusting = (pem: string): string[] => [...rootCertificates, pem]

/**
 * Returns subject, names, issuer and end of the certificate that the server of `url` shows, without checking it; null if
 * it shows none.
 */
export function shownCertificate(url: URL, lookup: LookupFunction): Promise<string | null> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve) => {
    const socket = connect({
      ...{ host, port: Number(url.port || 443), lookup, rejectUnauthorized: false },
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    })
    const end = (found: string | null): void => {
      socket.destroy()
      resolve(found)
    }
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => end(null))
    socket.once('secureConnect', () => end(described(socket.getPeerCertificate())))
    socket.once('error', () => end(null))
  })
}

function described({
  subject,
  issuer,
  subjectaltname,
  valid_to: end,
}: Partial<PeerCertificate>): string | null {
  if (subject === undefined) return null
  const names = subjectaltname === undefined ? '' : ` for ${subjectaltname}`
  return `${nameOf(subject)}${names}, issued by ${nameOf(issuer)}, valid until ${end}`
}

const nameOf = (name: Partial<PeerCertificate['subject']> | undefined): string =>
  String(name?.CN ?? name?.O ?? 'unnamed')
