/** The steps that every SDK script runs, and the result of a run. */

/** Every script runs these in this order, each script on its own server with a master key. */
export const steps = [
  'health',
  'version',
  'create-index',
  'settings',
  'add-documents',
  'typo',
  'filter',
  'facets',
  'sort',
  'pages',
  'highlight',
  'facet-search',
  'multi-search',
  'federated',
  'hybrid',
  'similar',
  'get-document',
  'update-document',
  'delete-document',
  'stats',
  'keys',
  'tenant-token',
  'error',
  'failed-task',
  'tasks',
  'batches',
  'cancel',
  'swap-indexes',
  'dump',
  'delete-index',
] as const

export interface Outcome {
  readonly passed: readonly string[]
  /** `STEP: REASON` for each failed step. */
  readonly failed: readonly string[]
}

/**
 * Parses the output of a script: a line `passed STEP` or `failed STEP: REASON` per step. A step without a line counts
 * as failed, so a script that ends early cannot pass.
 */
export function outcomeOf(output: string): Outcome {
  const lines = output.split('\n')
  const passed = steps.filter((step) => lines.includes(`passed ${step}`))
  const failed = steps
    .filter((step) => !passed.includes(step))
    .map((step) => {
      const line = lines.find((line) => line.startsWith(`failed ${step}: `))
      return line?.slice('failed '.length) ?? `${step}: the script did not reach this step`
    })
  return { passed, failed }
}
