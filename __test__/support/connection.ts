import { Agent, type ClientRequest, request as httpRequest } from 'node:http'

export interface ConnectionAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export interface Sent {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A persistent connection to a server on this machine. Requests are sent one after the other. */
export class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #port: number
  readonly #masterKey: string

  constructor(port: number, masterKey: string) {
    this.#port = port
    this.#masterKey = masterKey
  }

  /** Sends a request, and returns it unfinished. */
  open(
    method: string,
    path: string,
    body: unknown,
    { key = this.#masterKey, headers = {} }: Sent = {},
  ): ClientRequest {
    const text = body === undefined ? '' : JSON.stringify(body)
    const sent = httpRequest({
      ...{ port: this.#port, host: '127.0.0.1', agent: this.#agent, method, path },
      headers: {
        authorization: `Bearer ${key}`,
        ...(text !== '' && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(text)),
        }),
        ...headers,
      },
    })
    sent.end(text)
    return sent
  }

  async text(method: string, path: string, body?: unknown, sent: Sent = {}): Promise<[number, string]> {
    const request = this.open(method, path, body, sent)
    return new Promise((resolve, reject) => {
      request.on('error', reject)
      request.once('response', (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.once('end', () => resolve([answer.statusCode ?? 0, Buffer.concat(chunks).toString()]))
      })
    })
  }

  async call(method: string, path: string, body?: unknown, sent?: Sent): Promise<ConnectionAnswer> {
    const [status, text] = await this.text(method, path, body, sent)
    return { status, body: JSON.parse(text === '' ? '{}' : text) as ConnectionAnswer['body'] }
  }

  close(): void {
    this.#agent.destroy()
  }
}
