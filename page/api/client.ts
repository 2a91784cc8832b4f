/** Sends every request of the page to the server, with the key of this tab. */

const KEY_NAME = 'siftd.key'

/** The key, if the browser has no storage for this site. */
let unstored = ''

/** The key is kept until the tab is closed, or reloaded if storage is switched off. It is sent only to this server. */
export function storedKey(): string {
  try {
    return sessionStorage.getItem(KEY_NAME) ?? unstored
  } catch {
    return unstored
  }
}
export function storeKey(key: string): void {
  unstored = key
  try {
    if (key === '') sessionStorage.removeItem(KEY_NAME)
    else sessionStorage.setItem(KEY_NAME, key)
  } catch {
    // Reading the storage fails too, so `unstored` is used.
  }
}

/** An error answer, or no answer (`status` 0). */
export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

export interface Request {
  readonly body?: unknown
  /** JSON text, sent unchanged so that numbers keep all digits. */
  readonly text?: string
  readonly signal?: AbortSignal
}

/** @throws {Failure}, or an `AbortError` after `signal` */
export async function ask<T>(method: string, path: string, request: Request = {}): Promise<T> {
  return JSON.parse(await askText(method, path, request)) as T
}

/** Returns the answer as unparsed text. */
export async function askText(method: string, path: string, request: Request = {}): Promise<string> {
  const { body, text = body === undefined ? undefined : JSON.stringify(body), signal } = request
  const init: RequestInit = { method, headers: headers(text === undefined ? null : 'application/json') }
  if (text !== undefined) init.body = text
  if (signal !== undefined) init.signal = signal
  let answer: Response
  try {
    answer = await fetch(path, init)
  } catch (error) {
    if (isAbort(error)) throw error
    throw new Failure(0, 'no_answer', 'The server does not answer. Is it running?')
  }
  const read = await answer.text()
  if (!answer.ok) throw failureOf(answer.status, read)
  return read || 'null'
}

/** @throws {Failure} if the key has a character that no header may have */
export function headers(contentType: string | null): Record<string, string> {
  const key = storedKey()
  const strange = /[^\x20-\x7e]/u.exec(key)?.[0]
  if (strange !== undefined)
    throw new Failure(403, 'invalid_api_key', `The key contains ${nameOf(strange)}, which no key has.`)
  return {
    ...(contentType !== null && { 'Content-Type': contentType }),
    ...(key !== '' && { Authorization: `Bearer ${key}` }),
  }
}

/** Names a character, which may be invisible, such as U+200B in copied text. */
const nameOf = (character: string): string =>
  `the character U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

/** Parses an error body of the API. */
export function failureOf(status: number, text: string): Failure {
  try {
    const { code, message } = JSON.parse(text) as { code?: unknown; message?: unknown }
    if (typeof message === 'string') return new Failure(status, String(code ?? ''), message)
  } catch {
    // Not from the API: from a proxy, or an empty answer for an unknown path.
  }
  return new Failure(status, '', `The server answered ${status}${text ? `: ${text.slice(0, 200)}` : ''}.`)
}

export const isAbort = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'AbortError'

/** Returns the path of an index, with the uid escaped. */
export const indexPath = (uid: string, rest = ''): string => `/indexes/${encodeURIComponent(uid)}${rest}`
