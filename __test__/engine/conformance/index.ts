/**
 * Conformance tests of every engine, through the `Engine` interface only: a file per subject. Ranking, filters, facets
 * and formatting are tested by the cases in `__test__/golden/*.json`.
 */
import type { TestedEngine } from '../../support/engines.js'
import { commits } from './commits.js'
import { documents } from './documents.js'
import { elements } from './elements.js'
import { facetSearch } from './facet-search.js'
import { federation } from './federation.js'
import { geo } from './geo.js'
import { golden } from './golden.js'
import { languages } from './languages.js'
import { limits } from './limits.js'
import { payloads } from './payloads.js'
import { primaryKeys } from './primary-keys.js'
import { progress } from './progress.js'
import { settings } from './settings.js'
import { statistics } from './statistics.js'
import { unusualValues } from './unusual-values.js'
import { vectors } from './vectors.js'

const subjects = [
  golden,
  languages,
  documents,
  primaryKeys,
  payloads,
  statistics,
  settings,
  geo,
  elements,
  limits,
  federation,
  facetSearch,
  commits,
  progress,
  unusualValues,
  vectors,
] as const

/** Declares the tests of all subjects for an engine. */
export function conformance(engine: TestedEngine): void {
  for (const subject of subjects) subject(engine)
}
