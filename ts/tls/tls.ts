import { lookup } from 'node:dns/promises'
import type { Server as HttpServer, RequestListener } from 'node:http'
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2'
import { createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'
import { LaunchError } from '../launch/index.js'
import type { Logger } from '../telemetry/index.js'
import { readTlsFiles, type SslOptions, type TlsFiles } from './files.js'
import { CLOSING_MS_MAX, HANDSHAKE_MS_MAX, IDLE_MS_MAX, STREAMS_MAX, WATCH_MS } from './limits.js'
import { SessionCache } from './sessions.js'
import { watchFiles } from './watch.js'

/** TLS for a server, with files that can be replaced while it runs. */
export interface Tls {
  /**
   * Creates a server for HTTP/1.1 and HTTP/2; clients choose by ALPN. Call it only once. `closeAllConnections` ends
   * connections of both protocols.
   */
  createServer(handler: RequestListener): HttpServer
  /**
   * Also listens on the other addresses of `localhost`, as fastify does for its own servers. Skips an address if
   * listening fails.
   * @param name the name or address that the server listens on; does nothing unless it is `localhost`
   * @param address the address that the server is bound to
   */
  listenOnAliases(name: string, port: number, address: string): Promise<void>
  /** Reads the files again for later handshakes. If a file cannot be used, logs an error and changes nothing. */
  reload(): Promise<void>
  close(): void
}

/**
 * Reads and checks the files; null if no certificate is given.
 * @throws LaunchError with option and file
 */
export async function openTls(options: SslOptions, log: Logger): Promise<Tls | null> {
  const files = await readTlsFiles(options)
  if (files === null) return null
  warn(files, log)
  return new ReloadingTls(options, files, log)
}

class ReloadingTls implements Tls {
  readonly #options: SslOptions
  readonly #log: Logger
  readonly #sessions = new SessionCache()
  readonly #aliasServers: TcpServer[] = []
  #files: TlsFiles
  #server: Http2SecureServer | null = null
  #unwatch: () => void = () => undefined

  constructor(options: SslOptions, files: TlsFiles, log: Logger) {
    this.#options = options
    this.#files = files
    this.#log = log
  }

  createServer(handler: RequestListener): HttpServer {
    const { sslCertPath, sslKeyPath, sslAuthPath, sslOcspPath, sslRequireAuth, sslResumption } = this.#options
    const server = createSecureServer({
      ...this.#files.context,
      ...(sslAuthPath !== null && { requestCert: true, rejectUnauthorized: sslRequireAuth }),
      allowHTTP1: true,
      handshakeTimeout: HANDSHAKE_MS_MAX,
      settings: { maxConcurrentStreams: STREAMS_MAX },
    })
    server.on('request', handler as unknown as Parameters<typeof server.on>[1])
    if (sslResumption) this.#sessions.serve(server as unknown as Server)
    server.on(
      'OCSPRequest',
      (_certificate: Buffer, _issuer: Buffer, reply: (error: null, answer: Buffer | null) => void) =>
        reply(null, this.#files.ocsp),
    )
    if (sslAuthPath !== null) refuseUnknownAuthorities(server, this.#log)
    this.#server = server
    const paths = [sslCertPath, sslKeyPath, sslAuthPath, sslOcspPath].filter((path) => path !== null)
    this.#unwatch = watchFiles(paths, WATCH_MS, () => void this.reload())
    return Object.assign(server, { keepAliveTimeout: IDLE_MS_MAX }, closers(server)) as unknown as HttpServer
  }

  async listenOnAliases(name: string, port: number, address: string): Promise<void> {
    if (name !== 'localhost') return
    const all = await lookup(name, { all: true }).catch(() => [])
    for (const other of all.filter((one) => one.address !== address)) {
      const server = createTcpServer({ noDelay: true }, (socket) => this.#server?.emit('connection', socket))
      await new Promise<void>((resolve) => {
        server.once('error', () => resolve())
        server.listen({ host: other.address, port }, () => resolve())
      })
      if (server.listening) this.#aliasServers.push(server)
    }
  }

  async reload(): Promise<void> {
    try {
      const files = await readTlsFiles(this.#options)
      if (files === null || this.#server === null) return
      this.#server.setSecureContext(files.context)
      this.#files = files
      this.#sessions.clear()
      warn(files, this.#log)
      this.#log.info('TLS files reloaded')
    } catch (error) {
      const reason = error instanceof LaunchError ? error.message : String(error)
      this.#log.error(`TLS files not reloaded, the old ones stay in use: ${reason}`)
    }
  }

  close(): void {
    this.#unwatch()
    for (const server of this.#aliasServers) server.close()
  }
}

function warn({ warnings }: TlsFiles, log: Logger): void {
  for (const warning of warnings) log.warn(warning)
}

/**
 * Ends connections of clients with a certificate of an unknown authority. If certificates are optional, Node.js would
 * treat them like clients without one.
 */
function refuseUnknownAuthorities(server: Http2SecureServer, log: Logger): void {
  const listeners = server.listeners('secureConnection')
  server.removeAllListeners('secureConnection')
  server.on('secureConnection', (socket: TLSSocket) => {
    const isUntrusted = !socket.authorized && socket.getPeerX509Certificate() !== undefined
    if (isUntrusted) {
      log.info({ reason: String(socket.authorizationError) }, 'a client certificate was refused')
      socket.destroy()
      return
    }
    for (const serve of listeners) serve.call(server, socket)
  })
}

/** Methods of `http.Server` that `Http2SecureServer` lacks. fastify and others call them. */
function closers(server: Http2SecureServer): { closeAllConnections(): void; closeHttp2Sessions(): void } {
  const sockets = new Set<TLSSocket>()
  const sessions = new Set<ServerHttp2Session>()
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    session.setTimeout(IDLE_MS_MAX, () => {
      // Running requests are still answered, unless they hang.
      session.close()
      const deadline = setTimeout(() => session.destroy(), CLOSING_MS_MAX).unref()
      session.once('close', () => clearTimeout(deadline))
    })
  })
  return {
    closeAllConnections() {
      for (const socket of sockets) socket.destroy()
    },
    closeHttp2Sessions() {
      for (const session of sessions) session.close()
    },
  }
}
