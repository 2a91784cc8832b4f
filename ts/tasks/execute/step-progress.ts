import type { Step } from '../../engine/index.js'

/** Progress of a step: `finished` of `total`. */
export type StepProgress = Pick<Step, 'finished' | 'total'>
