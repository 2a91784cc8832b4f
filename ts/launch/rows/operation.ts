/** Options of backups, outgoing calls, logs, metrics, telemetry and features. */
import {
  choice,
  count,
  headers,
  logTarget,
  networks,
  origins,
  ratio,
  schedule,
  text,
  toggle,
  url,
} from '../kinds.js'

export const backups = {
  dumpDir: text('path', 'dumps/', {
    help: 'Directory of dumps, created if absent',
    example: '/var/backups/siftd/dumps',
  }),
  importDump: text('path', null, {
    help: 'Dump to start a new data directory from',
    example: 'dumps/20260101-120000000.dump',
    excludes: 'importSnapshot',
  }),
  ignoreMissingDump: toggle({
    help: 'Starts although the dump does not exist',
    requires: 'importDump',
  }),
  ignoreDumpIfDbExists: toggle({
    help: 'Starts with the existing data, if any',
    requires: 'importDump',
  }),
  snapshotDir: text('path', 'snapshots/', {
    help: 'Directory of snapshots, created if absent',
    example: '/var/backups/siftd/snapshots',
  }),
  snapshotsKept: count({ min: 1 }, 1, {
    help: 'Number of snapshots kept; older ones have their date in their name',
    example: '7',
  }),
  scheduleSnapshot: schedule({
    help: 'Takes snapshots, daily or at this interval in seconds',
    example: '3600',
  }),
  importSnapshot: text('path', null, {
    help: 'Snapshot to start a new data directory from',
    example: 'snapshots/data.ms.snapshot',
    excludes: 'importDump',
  }),
  ignoreMissingSnapshot: toggle({
    help: 'Starts although the snapshot does not exist',
    requires: 'importSnapshot',
  }),
  ignoreSnapshotIfDbExists: toggle({
    help: 'Starts with the existing data, if any',
    requires: 'importSnapshot',
  }),
} as const

export const outgoing = {
  taskWebhookUrl: url(null, {
    help: 'URL that is called for every finished task',
    example: 'https://hooks.example.com/tasks',
  }),
  taskWebhookAuthorizationHeader: text('header', null, {
    help: 'Authorization header sent to that webhook',
    example: 'Bearer secret',
    isSecret: true,
  }),
  experimentalAllowedIpNetworks: networks({
    help: 'Networks that webhooks, embedders, rerankers, chats, downloads of models, exports, remotes and the bucket may reach in addition to public ones, or any',
    example: '127.0.0.0/8,10.0.0.0/8',
  }),
} as const

export const observation = {
  logLevel: logTarget('INFO', {
    help: 'Log level of all modules or of single ones; unlisted modules log at INFO',
    example: 'warn,tasks=debug',
  }),
  experimentalLogsMode: choice(['HUMAN', 'JSON'], 'HUMAN', {
    help: 'Format of log lines; --log-format is an alias',
    example: 'JSON',
    anyCase: true,
    aliases: ['log-format'],
  }),
  slowQueryMs: count({ min: 0 }, null, {
    help: 'Logs searches that take at least this many milliseconds, with the time of each stage; 0 logs all',
    example: '500',
    defaultInWords: 'no search is logged',
  }),
  queryStats: toggle({
    help: 'Counts the queries of the last 30 days: GET /stats/queries and the page show the most frequent ones, the slowest ones, and those without hits',
  }),
  hashQueryText: toggle({
    help: 'Shows hashes instead of queries and filters, in the log of slow searches and in query statistics',
  }),
  experimentalEnableLogsRoute: toggle({ help: 'Switches feature logsRoute on' }),
  experimentalEnableMetrics: toggle({ help: 'Switches feature metrics on' }),
} as const

export const tracing = {
  otlpEndpoint: url(null, {
    help: 'Collector of OpenTelemetry traces, by OTLP over HTTP; without it nothing is traced',
    example: 'http://localhost:4318',
  }),
  otlpHeaders: headers({
    help: 'Headers of requests to that collector, such as a key',
    example: 'x-api-key=secret',
    defaultInWords: 'none',
    isSecret: true,
    requires: 'otlpEndpoint',
  }),
  otlpSampleRatio: ratio(1, {
    help: 'Share of the traces that are recorded; a caller that sends traceparent decides for its own',
    example: '0.05',
    requires: 'otlpEndpoint',
  }),
  otlpQueryText: toggle({
    help: 'Shows the texts of queries and filters in traces',
    requires: 'otlpEndpoint',
  }),
} as const

export const telemetry = {
  telemetryUrl: url(null, {
    help: 'Collector of usage statistics, which are sent every hour; without it nothing is sent',
    example: 'https://collector.example/v1/batch',
  }),
  telemetryPreview: toggle({ help: 'Prints telemetry instead of sending it' }),
  noAnalytics: toggle({ help: 'Never sends telemetry, regardless of other options' }),
  serverProvider: text('name', null, {
    help: 'Name of the hosting provider, for telemetry',
    example: 'our-cloud',
    isVariable: true,
  }),
} as const

export const agents = {
  mcp: toggle({ help: 'Switches feature mcpRoute on: POST /mcp gives agents tools to search' }),
  mcpWrites: toggle({
    help: 'Agents may add and delete documents and change settings by POST /mcp, with a key that may do so',
  }),
  mcpAllowedOrigins: origins({
    help: 'Origins of web pages that may call POST /mcp in addition to those of this machine, or *',
    example: 'https://agents.example.com',
  }),
} as const

export const features = {
  experimentalContainsFilter: toggle({ help: 'Switches feature containsFilter on' }),
  experimentalLegacySearchDefault: toggle({
    help: 'Switches feature legacySearch on',
    envName: 'EXPERIMENTAL_LEGACY_SEARCH',
  }),
} as const
