/** Options of the instance itself: its data, its protection, its address. */
import { address, bytes, choice, count, text, toggle } from '../kinds.js'
import type { Basis } from '../option.js'

/** Beyond it threads only take memory. */
const HTTP_THREADS_MAX = 64

export const data = {
  dbPath: text('path', './data.ms', {
    help: 'Directory of the data, created if absent',
    example: '/var/lib/siftd/data.ms',
  }),
  engine: choice(['auto', 'native', 'fallback'], 'auto', {
    help: 'Search engine; auto uses native if its binary loads',
    example: 'fallback',
  }),
  upgradeDb: toggle({
    help: 'Upgrades the data directory of an older version, after writing a snapshot of it to --snapshot-dir',
    formerNames: ['experimental-dumpless-upgrade'],
  }),
  upgradeWithoutSnapshot: toggle({ help: 'Takes no snapshot before an upgrade', requires: 'upgradeDb' }),
  reindexOnUpgrade: toggle({
    help: 'Analyses indexes again at the start if another version cut their documents into words',
  }),
  rebuildTaskStore: toggle({
    help: 'Makes a new task store from the indexes if the old one is damaged or incomplete',
  }),
  taskStoreDriver: choice(['libsql', 'node:sqlite', 'node-sqlite3-wasm'], null, {
    help: 'Build of SQLite for the task store',
    example: 'node-sqlite3-wasm',
    defaultInWords: 'the first of these that loads',
    isVariable: true,
  }),
} as const

export const protection = {
  masterKey: text('key', null, {
    help: 'Protects the instance; at least 16 bytes, mandatory in production',
    example: 'a-key-of-at-least-16-bytes',
    isSecret: true,
  }),
  env: choice(['development', 'production'], 'development', {
    help: 'Kind of instance; production requires a master key and does not serve the page at /',
    example: 'production',
  }),
  page: toggle({ help: 'Serves the page at / in production too' }),
} as const

export const listening = {
  httpAddr: address(
    { host: 'localhost', port: 7700 },
    { help: 'Address to listen on; port 0 means any free port', example: '0.0.0.0:7700' },
  ),
  httpThreads: {
    ...count({ min: 1, countsAtMost: HTTP_THREADS_MAX }, 1, {
      help: 'Threads that answer searches; with 1 the main thread answers everything; on the fallback engine, threads that search',
      example: '4',
      defaultInWords:
        'a third of the cores; 1 with TLS, with a bucket, with traces and on Windows; on the fallback engine the cores, at most 4',
    }),
    fallback: ({ cores }: Basis) => (process.platform === 'win32' ? 1 : Math.max(1, Math.floor(cores / 3))),
  },
  httpPayloadSizeLimit: bytes(() => 100_000_000, {
    help: 'Largest body of any request, after decompression; if it is not given, JSON bodies of other routes than documents have lower limits',
    example: '250MB',
    defaultInWords: '100 MB',
  }),
} as const

export const tls = {
  sslCertPath: text('path', null, {
    help: 'PEM certificate chain, the server certificate first; switches TLS on',
    example: '/etc/siftd/cert.pem',
    requires: 'sslKeyPath',
  }),
  sslKeyPath: text('path', null, {
    help: 'PEM private key of that certificate',
    example: '/etc/siftd/key.pem',
    requires: 'sslCertPath',
  }),
  sslAuthPath: text('path', null, {
    help: 'PEM authorities whose client certificates are accepted',
    example: '/etc/siftd/clients.pem',
    requires: 'sslCertPath',
  }),
  sslOcspPath: text('path', null, {
    help: 'DER OCSP response to staple',
    example: '/etc/siftd/ocsp.der',
    requires: 'sslCertPath',
  }),
  sslRequireAuth: toggle({ help: 'Refuses clients without a certificate', requires: 'sslAuthPath' }),
  sslResumption: toggle({ help: 'Resumes sessions of TLS 1.2 by their id', requires: 'sslCertPath' }),
  sslTickets: toggle({ help: 'Resumes sessions of TLS 1.2 and 1.3 by tickets', requires: 'sslCertPath' }),
} as const

export const configuration = {
  configFilePath: text('path', null, {
    help: 'Configuration file in TOML, with the names of options in snake_case',
    example: '/etc/siftd/config.toml',
    defaultInWords: './config.toml if it exists',
  }),
} as const
