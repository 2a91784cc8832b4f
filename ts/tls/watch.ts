import { stat } from 'node:fs/promises'

/**
 * Calls `changed` after a file changed and all files stayed the same for `intervalMs`: a certificate and its key are
 * replaced one after another. Polling also detects changes behind symbolic links and on network file systems, which
 * system notifications miss.
 * @returns a function that stops watching
 */
export function watchFiles(paths: readonly string[], intervalMs: number, changed: () => void): () => void {
  let [settled, seen]: (string | null)[] = [null, null]
  let isPolling = false
  const poll = async (): Promise<void> => {
    const now = await stateOf(paths)
    settled ??= now
    if (now !== settled && now === seen) {
      settled = now
      changed()
    }
    seen = now
  }
  const pollOnce = async (): Promise<void> => {
    if (isPolling) return
    isPolling = true
    await poll()
    isPolling = false
  }
  void pollOnce()
  const timer = setInterval(() => void pollOnce(), intervalMs).unref()
  return () => clearInterval(timer)
}

/** Returns a text that differs after every change of content, name or link. */
async function stateOf(paths: readonly string[]): Promise<string> {
  const states = paths.map(async (path) => {
    const facts = await stat(path).catch(() => null)
    return facts === null
      ? 'missing'
      : [facts.dev, facts.ino, facts.size, facts.mtimeMs, facts.ctimeMs].join()
  })
  return (await Promise.all(states)).join(';')
}
