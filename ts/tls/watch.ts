import { stat } from 'node:fs/promises'

/**
 * Calls `changed` some time after one of the files has changed, once they have stayed the same for `intervalMs`: a
 * certificate and its key are replaced one after the other. Polling also sees files behind symbolic links and on
 * network file systems, which notifications of the system miss.
 * @returns ends it
 */
export function watchFiles(paths: readonly string[], intervalMs: number, changed: () => void): () => void {
  let [settled, seen]: (string | null)[] = [null, null]
  let isLooking = false
  const look = async (): Promise<void> => {
    const now = await stateOf(paths)
    settled ??= now
    if (now !== settled && now === seen) {
      settled = now
      changed()
    }
    seen = now
  }
  const lookOnce = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    await look()
    isLooking = false
  }
  void lookOnce()
  const timer = setInterval(() => void lookOnce(), intervalMs).unref()
  return () => clearInterval(timer)
}

/** Differs after every change of content, name or link. */
async function stateOf(paths: readonly string[]): Promise<string> {
  const states = paths.map(async (path) => {
    const facts = await stat(path).catch(() => null)
    return facts === null
      ? 'missing'
      : [facts.dev, facts.ino, facts.size, facts.mtimeMs, facts.ctimeMs].join()
  })
  return (await Promise.all(states)).join(';')
}
