/**
 * Starts the threads of the program from the bundle, as users do. A thread of the compiled sources loads hundreds of files,
 * 300 ms of processor time; one of the bundle takes 70 ms. Every instance that a test opens starts several.
 *
 * ava loads this file before each spec. A bundle older than the last compilation is ignored.
 */
import { existsSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import workerThreads, { Worker, type WorkerOptions } from 'node:worker_threads'
import { isBundleFresh } from './program.js'

const sources = new URL('../../ts/', import.meta.url).href

class BundledWorker extends Worker {
  constructor(file: string | URL, options?: WorkerOptions) {
    super(bundled(file) ?? file, options)
  }
}

/** The bundled file of a thread of the program; null for other threads. */
function bundled(file: string | URL): URL | null {
  const { href } = typeof file === 'string' ? { href: file } : file
  if (!href.startsWith(sources)) return null
  const found = new URL(`../../bundle/${basename(href)}`, import.meta.url)
  return existsSync(fileURLToPath(found)) ? found : null
}

if (isBundleFresh) {
  workerThreads.Worker = BundledWorker
  syncBuiltinESMExports()
}
