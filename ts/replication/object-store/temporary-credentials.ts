/** Sources of credentials that expire: web identity (Kubernetes), container role (ECS, EKS), machine role (EC2). */
import { isIP } from 'node:net'
import { LaunchError } from '../../launch/index.js'
import {
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest,
} from '../../outbound/index.js'
import type { Credentials, Environment, ReadText } from './credentials.js'
import { CREDENTIALS_BYTES_MAX, CREDENTIALS_MS, METADATA_MS } from './limits.js'
import { BucketError } from './object-store.js'
import { readError, readIssued } from './xml.js'

export interface Temporary extends Credentials {
  /** Milliseconds since 1970; null: they do not expire. */
  readonly expiresAt: number | null
}

/** Requests credentials. @throws BucketError; its message holds no secret */
export type Source = () => Promise<Temporary>

export interface SourceSetup {
  readonly env: Environment
  readonly readText: ReadText
  readonly outbound: Outbound
}

/**
 * Source for the role of a token file, as in a Kubernetes pod; null if it is not configured.
 * @throws LaunchError if the configuration is incomplete
 */
export function webIdentity({ env, readText, outbound }: SourceSetup): Source | null {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: path, AWS_ROLE_ARN: role } = env
  if (!path) return null
  if (!role) throw new LaunchError('AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN', 2)
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION
  const usual = `https://sts.${region ? `${region}.` : ''}amazonaws.com`
  const url = env.AWS_ENDPOINT_URL_STS || env.AWS_ENDPOINT_URL || usual
  const what = 'the role for the bucket'
  return async () => {
    const token = secretIn(path, readText, what)
    const answer = await ask(outbound, what, {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/xml' },
      body: new URLSearchParams({
        Action: 'AssumeRoleWithWebIdentity',
        Version: '2011-06-15',
        RoleArn: role,
        RoleSessionName: env.AWS_ROLE_SESSION_NAME || `siftd-${Date.now()}`,
        WebIdentityToken: token,
      }).toString(),
    })
    const text = answer.body.toString()
    if (answer.status !== 200) {
      const told = readError(text)
      // AWS could not reach the issuer of the token. The status is 400, but the fault is not ours and may pass.
      const isAway = told?.code === 'IDPCommunicationError'
      throw refused(what, answer.status, told, [token], isAway)
    }
    return issued(what, readIssued(text))
  }
}

/** Hosts of ECS and EKS that may serve credentials over plain HTTP. This machine may too. */
const CONTAINER_HOSTS = ['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]', '[::1]', 'localhost']
const CONTAINER_ORIGIN = 'http://169.254.170.2'

/**
 * Source for the role of an ECS or EKS container; null if it is not configured.
 * @throws LaunchError if its address is not allowed
 */
export function containerRole({ env, readText, outbound }: SourceSetup): Source | null {
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: path, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } = env
  if (!path && !full) return null
  const url = path ? `${CONTAINER_ORIGIN}/${path.replace(/^\/+/, '')}` : containerUrl(full ?? '')
  const what = 'the role of the container'
  return async () => {
    const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
    const token = file ? secretIn(file, readText, what) : env.AWS_CONTAINER_AUTHORIZATION_TOKEN || null
    if (token !== null && /[\r\n]/.test(token))
      throw new BucketError(`${what}: its authorization token has more than one line`, 'refused')
    const headers = { accept: 'application/json', ...(token !== null && { authorization: token }) }
    const answer = await ask(outbound, what, { method: 'GET', url, headers })
    const found = jsonIn(answer)
    if (answer.status !== 200)
      throw refused(what, answer.status, textsIn(found, 'code', 'message'), token === null ? [] : [token])
    return issued(what, found)
  }
}

function containerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isOwn = url !== null && isIP(url.hostname) === 4 && url.hostname.startsWith('127.')
  const isSafe = url?.protocol === 'https:' || isOwn || CONTAINER_HOSTS.includes(url?.hostname ?? '')
  if (url === null || !isSafe || !['http:', 'https:'].includes(url.protocol))
    throw new LaunchError(
      'AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https://, or with http:// and an address of this machine or of the agent of ECS or EKS',
      2,
    )
  return url.href
}

const METADATA_PATH = '/latest/meta-data/iam/security-credentials/'

/** Source for the role of an EC2 machine, from version 2 of the metadata service; null if it is disabled. */
export function machineRole({ env, outbound }: SourceSetup): Source | null {
  if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') return null
  const isV6 = env.AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE?.toLowerCase() === 'ipv6'
  const usual = isV6 ? 'http://[fd00:ec2::254]' : 'http://169.254.169.254'
  const origin = (env.AWS_EC2_METADATA_SERVICE_ENDPOINT || usual).replace(/\/$/, '')
  const what = 'the role of the machine'
  return async () => {
    const call = async (method: 'PUT' | 'GET', path: string, headers: Readonly<Record<string, string>>) => {
      const answer = await ask(outbound, what, { method, url: `${origin}${path}`, headers }, METADATA_MS)
      if (answer.status !== 200) throw refused(what, answer.status, null, [])
      return answer
    }
    const token = await call('PUT', '/latest/api/token', { 'x-aws-ec2-metadata-token-ttl-seconds': '300' })
    const headers = { 'x-aws-ec2-metadata-token': token.body.toString().trim() }
    const [role = ''] = (await call('GET', METADATA_PATH, headers)).body.toString().trim().split('\n')
    return issued(
      what,
      jsonIn(await call('GET', `${METADATA_PATH}${encodeURIComponent(role.trim())}`, headers)),
    )
  }
}

async function ask(
  outbound: Outbound,
  what: string,
  request: Pick<OutboundRequest, 'method' | 'url' | 'headers' | 'body'>,
  timeoutMs = CREDENTIALS_MS,
): Promise<OutboundAnswer> {
  try {
    // A redirect would send the token, and take the credentials, elsewhere.
    return await outbound.call({
      ...{ ...request, redirects: 'refused' as const },
      ...{ timeoutMs, answerBytesMax: CREDENTIALS_BYTES_MAX },
    })
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const isUseless = ['url', 'refused', 'redirects'].includes(error.fault)
    const kind = isUseless ? 'refused' : error.fault === 'too_large' ? 'malformed' : 'unanswered'
    throw new BucketError(`${what}: ${error.message}`, kind, { cause: error })
  }
}

/** @param secrets removed from the message, since the service may repeat them */
function refused(
  what: string,
  status: number,
  told: { readonly code: string; readonly message: string } | null,
  secrets: readonly string[],
  isAway = false,
): BucketError {
  const text = told === null ? `status ${status}` : `${told.code} (${status}): ${told.message}`
  const safe = secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text).slice(0, 500)
  const kind = status === 429 ? 'busy' : isAway || status >= 500 ? 'unanswered' : 'refused'
  return new BucketError(`${what} was not given: ${safe}`, kind)
}

function secretIn(path: string, readText: ReadText, what: string): string {
  const text = readText(path)?.trim()
  if (!text) throw new BucketError(`${what}: there is no token in ${path}`, 'refused')
  return text
}

function jsonIn({ body }: OutboundAnswer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return null
  }
}

/** Returns two texts of an object; null if a text is missing. */
function textsIn(found: unknown, code: string, message: string) {
  const named = (found ?? {}) as Readonly<Record<string, unknown>>
  const [one, other] = [named[code], named[message]]
  return typeof one === 'string' && typeof other === 'string' ? { code: one, message: other } : null
}

/** @throws BucketError; its message does not repeat the answer */
function issued(what: string, found: unknown): Temporary {
  const named = (found ?? {}) as Readonly<Record<string, unknown>>
  const { AccessKeyId: id, SecretAccessKey: secret, Expiration: expiration } = named
  const token = named.Token ?? named.SessionToken
  const expiresAt = typeof expiration === 'string' ? Date.parse(expiration) : null
  const areTexts = [id, secret].every((text) => typeof text === 'string' && text !== '')
  if (!areTexts || Number.isNaN(expiresAt))
    throw new BucketError(`${what}: what was given are no credentials`, 'malformed')
  return {
    accessKeyId: String(id),
    secretAccessKey: String(secret),
    sessionToken: typeof token === 'string' && token !== '' ? token : null,
    expiresAt,
  }
}
