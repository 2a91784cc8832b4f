#!/usr/bin/env node
/** Entry point. Enables the compile cache of Node.js where available, then runs the program. */
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Available since Node.js 22. */
interface CompileCache {
  enableCompileCache?(directory: string): void
}

const { env } = process
// The default is a temporary directory shared with other users, whose code must not run here.
const caches = env.XDG_CACHE_HOME || env.LOCALAPPDATA || join(homedir(), '.cache')
;(module as CompileCache).enableCompileCache?.(env.NODE_COMPILE_CACHE || join(caches, 'siftd'))
await import('./main.js')
