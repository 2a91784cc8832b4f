import type { Server } from 'node:tls'
import { SESSIONS_MAX } from './limits.js'

/** Caches the newest sessions of TLS 1.2 by id. Sessions of TLS 1.3 are resumed by tickets alone. */
export class SessionCache {
  readonly #sessions = new Map<string, Buffer>()

  /** Makes the server offer its sessions for resumption. */
  serve(server: Server): void {
    server.on('newSession', (id: Buffer, session: Buffer, done: () => void) => {
      this.#sessions.set(id.toString('latin1'), session)
      const [oldest] = this.#sessions.keys()
      if (this.#sessions.size > SESSIONS_MAX && oldest !== undefined) this.#sessions.delete(oldest)
      done()
    })
    server.on('resumeSession', (id: Buffer, done: (error: null, session: Buffer | null) => void) =>
      done(null, this.#sessions.get(id.toString('latin1')) ?? null),
    )
  }

  /** Forgets all sessions, because they were negotiated with old certificates. */
  clear(): void {
    this.#sessions.clear()
  }
}
