#!/usr/bin/env node
/** The entry of the program. Has V8's code of all modules that it loads cached, where Node.js can, and runs it. */
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Node.js 22 has it. */
interface CompileCache {
  enableCompileCache?(directory: string): void
}

const { env } = process
// The default, a folder for temporary files, is shared with other users, whose code must not run here.
const caches = env.XDG_CACHE_HOME || env.LOCALAPPDATA || join(homedir(), '.cache')
;(module as CompileCache).enableCompileCache?.(env.NODE_COMPILE_CACHE || join(caches, 'siftd'))
await import('./main.js')
