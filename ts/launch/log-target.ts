/** Parses log levels such as `warn,tasks=debug`. */

/** Levels from quietest to most verbose. */
export const logLevels = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const

export type LogLevel = (typeof logLevels)[number]

/** Parts of the server with separate log levels. */
export const logModules = [
  'bucket',
  'cli',
  'engine',
  'http',
  'instance',
  'queries',
  'tasks',
  'webhooks',
] as const

export type LogModule = (typeof logModules)[number]

/** The most verbose level to log, by module. */
export interface LogTarget {
  /** Level of modules missing in `modules`. */
  readonly others: LogLevel
  readonly modules: Readonly<Partial<Record<LogModule, LogLevel>>>
}

/** Names for all modules, or for a single one: operators of Meilisearch know the names of its crates. */
const aliases: Readonly<Record<string, LogModule | 'all'>> = {
  siftd: 'all',
  meilisearch: 'all',
  actix_web: 'http',
  index_scheduler: 'tasks',
  milli: 'engine',
}

const isModule = (word: string): word is LogModule => (logModules as readonly string[]).includes(word)

/** A target, and the unknown module names in it. */
interface ReadLogTarget extends LogTarget {
  readonly unknown: readonly string[]
}

/**
 * Reads a comma-separated list of `level` and `module=level`, in any case. The last entry of a module counts. A module
 * may be given by its path, such as `siftd::tasks`.
 *
 * @param unnamed the level of unlisted modules, unless an entry is a level alone
 * @returns null if the text is not such a list
 */
export function readLogTarget(text: string, unnamed: LogLevel): ReadLogTarget | null {
  let others = unnamed
  const modules: Partial<Record<LogModule, LogLevel>> = {}
  const unknown: string[] = []
  for (const part of text.split(',')) {
    const [, name, word = ''] = /^(?:([\w:-]+)=)?(\w+)$/.exec(part.trim().toLowerCase()) ?? []
    const level = logLevels.find((one) => one === word)
    if (level === undefined) return null
    const module = name === undefined ? 'all' : moduleOf(name)
    if (module === 'all') others = level
    else if (module === null) unknown.push(name ?? '')
    else modules[module] = level
  }
  return { others, modules, unknown }
}

/** Returns the module of a name or path; null if it is unknown. */
function moduleOf(name: string): LogModule | 'all' | null {
  const [crate = '', inner] = name.split('::')
  if (crate === 'siftd' && inner !== undefined) return isModule(inner) ? inner : null
  if (isModule(crate)) return crate
  return Object.hasOwn(aliases, crate) ? (aliases[crate] ?? null) : null
}
