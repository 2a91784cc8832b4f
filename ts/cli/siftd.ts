#!/usr/bin/env node
/** Entry point. Keeps compiled code between starts, then runs the program. */
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { keepCompiledCode } from './compiled-code.js'

/** Available since Node.js 22. */
interface CompileCache {
  enableCompileCache?(directory: string): void
}

const { env } = process
// The default is a temporary directory shared with other users, whose code must not run here.
const caches = env.XDG_CACHE_HOME || env.LOCALAPPDATA || join(homedir(), '.cache')
const directory = env.NODE_COMPILE_CACHE || join(caches, 'siftd')
const { enableCompileCache } = module as CompileCache
if (enableCompileCache !== undefined) {
  enableCompileCache(directory)
  // Threads read the variable.
  env.NODE_COMPILE_CACHE = directory
} else if (!env.NODE_DISABLE_COMPILE_CACHE) keepCompiledCode(directory)
// The bundle is in CommonJS, which has no `await` at the top.
void import('./main.js')
