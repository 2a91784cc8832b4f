import type { Step } from '../../engine/index.js'

/** How far along: so many of so many. */
export type StepProgress = Pick<Step, 'finished' | 'total'>
