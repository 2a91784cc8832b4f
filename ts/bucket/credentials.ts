import { homedir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'ini'
import { LaunchError } from '../launch/index.js'

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** null: they do not expire. */
  readonly sessionToken: string | null
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Credentials of the usual variables, else of the usual file.
 * @param readFile null if there is no such file
 * @throws LaunchError that names where they were looked for
 */
export function credentialsFrom(env: Environment, readFile: (path: string) => string | null): Credentials {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env
  if (id !== undefined && id !== '' && secret !== undefined && secret !== '')
    return { accessKeyId: id, secretAccessKey: secret, sessionToken: token || null }
  const path = env.AWS_SHARED_CREDENTIALS_FILE ?? join(env.HOME ?? homedir(), '.aws', 'credentials')
  const profile = env.AWS_PROFILE || 'default'
  const text = readFile(path)
  const section: unknown = text === null ? undefined : parse(text)[profile]
  const found = (typeof section === 'object' ? section : {}) as Readonly<Record<string, unknown>>
  const { aws_access_key_id, aws_secret_access_key, aws_session_token } = found
  if (typeof aws_access_key_id !== 'string' || typeof aws_secret_access_key !== 'string') {
    const place =
      text === null ? `there is no file ${path}` : `${path} has none for the profile \`${profile}\``
    throw new LaunchError(
      `no credentials for the bucket: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and ${place}`,
      2,
    )
  }
  return {
    accessKeyId: aws_access_key_id,
    secretAccessKey: aws_secret_access_key,
    sessionToken: typeof aws_session_token === 'string' ? aws_session_token : null,
  }
}
