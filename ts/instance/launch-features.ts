import type { LaunchOptions } from '../launch/index.js'
import type { RuleBudgets } from '../tasks/index.js'
import { type InstanceStore, STORED_TASKS_MAX } from '../tasks/index.js'
import { type Feature, type Features, openFeatures } from './features.js'

/** Returns limits for the cost of dynamic search rules per search, from the launch options. */
export const ruleBudgets = (options: LaunchOptions): RuleBudgets => ({
  countedWordsMax: options.experimentalDsrFuelMaxCountedWords,
  activeRulesMax: options.experimentalDsrFuelMaxActiveRules,
  pinsMax: options.experimentalDsrFuelMaxPinActions,
  scalesMax: options.experimentalDsrFuelMaxScaleActions,
  wordsMax: options.experimentalDsrFuelWordFuel,
  valuesMax: options.experimentalDsrFuelFilterFuel,
  branchesMax: options.experimentalDsrFuelFilterOrFuel,
  equalitiesMax: options.experimentalDsrFuelFilterAndFuel,
  levelsMax: options.experimentalDsrFuelFilterDepthFuel,
})

/** Returns the number of tasks to keep. Keeps all if other instances read the tasks of this one. */
export const storedTasksMax = (options: LaunchOptions): number =>
  options.experimentalReplicationParameters ? Number.POSITIVE_INFINITY : STORED_TASKS_MAX

function forcedFeatures(options: LaunchOptions): readonly Feature[] {
  const byOption: readonly (readonly [boolean, Feature])[] = [
    [options.experimentalEnableMetrics, 'metrics'],
    [options.experimentalEnableLogsRoute, 'logsRoute'],
    [options.experimentalContainsFilter, 'containsFilter'],
    [options.experimentalLegacySearchDefault, 'legacySearch'],
    [options.mcp, 'mcpRoute'],
  ]
  return byOption.filter(([on]) => on).map(([, feature]) => feature)
}

/** Opens the experimental features of an instance, from the store and the launch options. */
export const openFeaturesOf = (store: InstanceStore, options: LaunchOptions): Promise<Features> =>
  openFeatures(store, forcedFeatures(options), ruleBudgets(options))
