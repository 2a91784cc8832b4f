/** What does the script of each language do, and what did one run of it show? */

/** Every script goes through these, in this order, on a server of its own that has a master key. */
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
  /** A step and why it failed. */
  readonly failed: readonly string[]
}

/**
 * Reads what a script printed: a line `passed STEP` or `failed STEP: REASON` per step. A step without a line has
 * failed, so a script that ends early cannot pass.
 */
export function outcomeOf(output: string): Outcome {
  const lines = output.split('\n')
  const passed = steps.filter((step) => lines.includes(`passed ${step}`))
  const failed = steps
    .filter((step) => !passed.includes(step))
    .map((step) => {
      const line = lines.find((line) => line.startsWith(`failed ${step}: `))
      return line?.slice('failed '.length) ?? `${step}: the script did not come to it`
    })
  return { passed, failed }
}
