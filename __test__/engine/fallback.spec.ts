import { openFallback } from '../../ts/engine/fallback/index.js'
import { conformance } from './conformance.js'

conformance('fallback', (directory) =>
  openFallback({
    directory,
    log: {
      warn: (fields, message) => console.warn(message, fields),
      error: (fields, message) => console.error(message, fields),
    },
  }),
)
