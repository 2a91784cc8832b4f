import type { Engine } from '../../engine/index.js'
import type { Features } from '../../instance/index.js'
import type { Tasks } from '../../tasks/index.js'

/** The services to check writes before they become tasks. */
export interface WriteServices {
  readonly engine: Engine
  readonly tasks: Tasks
  readonly features: Features
}
