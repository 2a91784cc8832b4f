import { addonAdvice, loadScripts, type RunScript } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import type { TaskLog } from './batch-context.js'

/**
 * Loads the script interpreter at the first script, and tries again after a failure: `npm start` compiles it while it
 * serves. The reasons of a failure are logged, not shown to clients, because they name paths of this machine.
 */
export function scriptRunner(log: Pick<TaskLog, 'warn'>, load: typeof loadScripts = loadScripts): RunScript {
  let run: RunScript | null = null
  return async (page, stop) => {
    if (run === null) {
      const scripts = load()
      if (typeof scripts !== 'function') {
        log.warn({ reasons: scripts.reasons }, 'the script interpreter cannot be loaded')
        throw new ApiError('feature_not_enabled', unavailable())
      }
      run = scripts
    }
    return run(page, stop)
  }
}

function unavailable(): string {
  const advice = addonAdvice('script')
  const hint = advice === null ? '' : `: run ${advice}, or read why in the log of the server`
  return `editing documents by function needs a native binary, which does not load here${hint}`
}
