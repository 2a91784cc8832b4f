import { homedir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'ini'
import { LaunchError } from '../../launch/index.js'

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** null: they do not expire. */
  readonly sessionToken: string | null
}

/** Environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Reads a file as text; null: it does not exist. */
export type ReadText = (path: string) => string | null

/** Credentials from the AWS environment variables; null: they are not set. */
export function credentialsOfVariables({
  AWS_ACCESS_KEY_ID: id,
  AWS_SECRET_ACCESS_KEY: secret,
  AWS_SESSION_TOKEN: token,
}: Environment): Credentials | null {
  if (!id || !secret) return null
  return { accessKeyId: id, secretAccessKey: secret, sessionToken: token || null }
}

/** Credentials from the AWS credentials file, or a text that says why it has none. */
export function credentialsOfFile(env: Environment, readText: ReadText): Credentials | string {
  const path = env.AWS_SHARED_CREDENTIALS_FILE || join(env.HOME ?? homedir(), '.aws', 'credentials')
  const profile = env.AWS_PROFILE || 'default'
  const text = readText(path)
  if (text === null) return `there is no file ${path}`
  const section: unknown = parse(text)[profile]
  const found = (typeof section === 'object' ? section : {}) as Readonly<Record<string, unknown>>
  const { aws_access_key_id, aws_secret_access_key, aws_session_token } = found
  if (typeof aws_access_key_id !== 'string' || typeof aws_secret_access_key !== 'string')
    return `${path} has none for the profile \`${profile}\``
  return {
    accessKeyId: aws_access_key_id,
    secretAccessKey: aws_secret_access_key,
    sessionToken: typeof aws_session_token === 'string' ? aws_session_token : null,
  }
}

/** @param places descriptions of the other sources that have none */
export const noCredentials = (places: readonly string[]): LaunchError =>
  new LaunchError(
    `no credentials for the bucket: ${['AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set', ...places].join(', and ')}`,
    2,
  )

/**
 * Credentials from the environment variables, else from the credentials file.
 * @throws LaunchError that names both sources
 */
export function credentialsFrom(env: Environment, readText: ReadText): Credentials {
  const given = credentialsOfVariables(env) ?? credentialsOfFile(env, readText)
  if (typeof given === 'string') throw noCredentials([given])
  return given
}
