/** The HTTP API that the tools call, as their caller may use it. */
export interface Api {
  /** Calls a route. Does not reject for an error status. */
  call(call: ApiCall): Promise<ApiAnswer>
  /** Returns false if the key of the caller cannot do the action. True if that is not known. */
  allows(action: string): Promise<boolean>
}

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with its query string. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

interface ApiAnswer {
  readonly status: number
  /** The JSON of the answer. */
  readonly bytes: Uint8Array
}

/** The body of an error answer. */
export interface ApiFault {
  readonly message: string
  readonly code: string
  readonly type: string
  readonly link: string
}

/** An error answer of the API, or a mistake in the arguments of a tool. */
export class ToolError extends Error {
  readonly fault: ApiFault

  constructor(fault: ApiFault) {
    super(fault.message)
    this.fault = fault
  }
}

export const wrongArgument = (message: string): ToolError =>
  new ToolError({ message, code: 'bad_request', type: 'invalid_request', link: '' })

export type Json = Readonly<Record<string, unknown>>

/** Calls a route and returns the object that it answers. @throws ToolError for an error status */
export async function ask(api: Api, call: ApiCall): Promise<Json> {
  const { status, bytes } = await api.call(call)
  const body = parsed(bytes)
  if (status < 400) return body ?? {}
  const { message, code = 'internal', type = 'internal', link = '' } = body ?? {}
  throw new ToolError({
    message: String(message ?? `the server answered with status ${status}`),
    code: String(code),
    type: String(type),
    link: String(link),
  })
}

function parsed(bytes: Uint8Array): Json | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
  } catch {
    return null
  }
}

/** Path of an index, or of a route below it. @throws ToolError for a uid that URLs leave out of a path */
export function indexPath(uid: string, below = ''): string {
  if (['', '.', '..'].includes(uid)) throw wrongArgument(`\`${uid}\` is not the uid of an index`)
  return `/indexes/${encodeURIComponent(uid)}${below}`
}
