import type { LaunchOptions } from '../launch/index.js'
import type { RuleBudgets } from '../rules/index.js'

/** What dynamic search rules may cost one search, by the launch options. */
export const ruleBudgets = (options: LaunchOptions): RuleBudgets => ({
  countedWordsMax: options.experimentalDsrFuelMaxCountedWords,
  activeRulesMax: options.experimentalDsrFuelMaxActiveRules,
  pinsMax: options.experimentalDsrFuelMaxPinActions,
  wordsMax: options.experimentalDsrFuelWordFuel,
  valuesMax: options.experimentalDsrFuelFilterFuel,
  branchesMax: options.experimentalDsrFuelFilterOrFuel,
  equalitiesMax: options.experimentalDsrFuelFilterAndFuel,
  levelsMax: options.experimentalDsrFuelFilterDepthFuel,
})
