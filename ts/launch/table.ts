/** The table of all launch options, by subject. Help, parsing, printing and tests are derived from it. */
import type { LaunchOption, Rows } from './option.js'
import { bucket } from './rows/bucket.js'
import { configuration, data, listening, protection, tls } from './rows/instance.js'
import { agents, backups, features, observation, outgoing, telemetry, tracing } from './rows/operation.js'
import { embedding, memory, searches, tasks } from './rows/work.js'

const table = {
  ...data,
  ...protection,
  ...listening,
  ...tls,
  ...memory,
  ...tasks,
  ...searches,
  ...embedding,
  ...backups,
  ...bucket,
  ...outgoing,
  ...observation,
  ...tracing,
  ...telemetry,
  ...agents,
  ...features,
  ...configuration,
} as const

export type OptionName = keyof typeof table

/** All launch options with their values. */
export type LaunchOptions = {
  readonly [K in OptionName]: (typeof table)[K] extends LaunchOption<infer T> ? T : never
}

/** All options with their names, in the order of the help. */
export const rows = Object.entries(table) as unknown as readonly (readonly [
  OptionName,
  LaunchOption<unknown>,
])[]

export const rowOf = (name: OptionName): LaunchOption<unknown> => table[name]

/** Sections of the help, with their options. */
export const subjects: readonly (readonly [title: string, rows: Rows])[] = [
  ['Data and engine', data],
  ['Protection', protection],
  ['Listening', listening],
  ['TLS', tls],
  ['Memory and threads', memory],
  ['Tasks', tasks],
  ['Searches', searches],
  ['Embedders', embedding],
  ['Dumps and snapshots', backups],
  ['Bucket and followers', bucket],
  ['Calls to others', outgoing],
  ['Logs and metrics', observation],
  ['Traces', tracing],
  ['Telemetry', telemetry],
  ['Agents', agents],
  ['Features', features],
  ['Configuration', configuration],
]
