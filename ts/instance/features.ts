import type { RequestFeatures } from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import type { InstanceStore } from '../tasks/index.js'
import { defaultRuleBudgets, type RuleBudgets } from '../tasks/index.js'
import { inTurn } from './in-turn.js'

/** Experimental features in the order of answers, each with its name in error messages. */
const featureWords = {
  metrics: 'metrics',
  logsRoute: 'logs route',
  editDocumentsByFunction: 'edit documents by function',
  containsFilter: 'contains filter',
  dynamicSearchRules: 'dynamic search rules',
  network: 'network',
  getTaskDocumentsRoute: 'get task documents route',
  taskQueueCompactionRoute: 'task queue compaction route',
  compositeEmbedders: 'composite embedders',
  chatCompletions: 'chat completions',
  multimodal: 'multimodal',
  foreignKeys: 'foreign keys',
  disableDocumentsFetchQueue: 'disable documents fetch queue',
  legacySearch: 'legacy search',
  renderRoute: 'render route',
  tasksStreamingRoute: 'tasks streaming route',
  mcpRoute: 'mcp route',
} as const

export type Feature = keyof typeof featureWords
export const featureNames = Object.keys(featureWords) as readonly Feature[]
export type FeatureFlags = Readonly<Record<Feature, boolean>>

/** The key of the flags in the instance store. */
const STORED_AS = 'experimentalFeatures'

/** The experimental features of the instance. They can be switched while it runs. */
export interface Features {
  readonly flags: FeatureFlags
  /** Limits for the cost of dynamic search rules per search, while their feature is on. */
  readonly ruleBudgets: RuleBudgets
  /** Calls `listener` when flags have changed, before the change is reported to its client. */
  onChange(listener: (flags: FeatureFlags) => void): void
  /** Switches the given features and keeps all others. Resolves when the flags are on disk. */
  patch(changes: Partial<FeatureFlags>): Promise<FeatureFlags>
  /**
   * Checks that a feature is on.
   * @param doing the action that needs the feature, for the error message
   * @throws ApiError `feature_not_enabled`
   */
  require(feature: Feature, doing: string): void
}

/** Returns the flags that an engine needs to read a request. */
export function requestFeatures({ flags }: Features): RequestFeatures {
  const { containsFilter, legacySearch, multimodal, foreignKeys } = flags
  return { containsFilter, legacySearch, multimodal, foreignKeys }
}

/** Returns the error for using `feature` while it is off. */
function featureNotEnabled(feature: Feature, doing: string): ApiError {
  const words = featureWords[feature]
  return new ApiError(
    'feature_not_enabled',
    `${doing} requires the experimental feature \`${words}\`; switch it on with PATCH /experimental-features {"${feature}": true}, see https://github.com/orgs/meilisearch/discussions`,
  )
}

/**
 * Reads the stored flags.
 * @param forced features switched on by launch options, unless the stored flag is null
 */
export async function openFeatures(
  instance: InstanceStore,
  forced: readonly Feature[] = [],
  ruleBudgets: RuleBudgets = defaultRuleBudgets,
): Promise<Features> {
  const read = async (): Promise<FeatureFlags> => {
    const stored = (await instance.value(STORED_AS)) as { readonly [F in Feature]?: boolean | null } | null
    return Object.fromEntries(
      // Importing a dump stores null for features that only a request may switch on again.
      featureNames.map((name) => [
        name,
        stored?.[name] === true || (stored?.[name] !== null && forced.includes(name)),
      ]),
    ) as FeatureFlags
  }
  let flags = await read()
  const listeners: ((flags: FeatureFlags) => void)[] = []
  const set = (next: FeatureFlags): void => {
    flags = next
    for (const listener of listeners) listener(next)
  }
  instance.onReplaced(async () => set(await read()))
  const turn = inTurn()
  return {
    ruleBudgets,
    get flags() {
      return flags
    },
    onChange: (listener) => void listeners.push(listener),
    patch: (changes) =>
      turn(async () => {
        const next = { ...flags, ...changes }
        await instance.putValue(STORED_AS, next)
        set(next)
        return next
      }),
    require(feature, doing) {
      if (!flags[feature]) throw featureNotEnabled(feature, doing)
    },
  }
}
