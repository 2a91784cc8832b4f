// Shows how far cargo is: `compiling the native engine: 57 of 203 crates, 1:20, about 2 min left`.
// On a terminal one line is rewritten; elsewhere a line is printed every fifteen seconds.

/** Part of the time that cargo needs for everything but the last crate, which is ours. Measured on two cores. */
const DEPENDENCIES_PART = 0.65
const LINE_EVERY_MS = 15_000

const clock = (ms) => `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`

/**
 * Reads what cargo writes to stderr when it runs with `env`.
 * @returns `env`, `read(text)`, and `end(isDone)`, which prints cargo's own messages if it failed
 */
export function crateProgress(what, to = process.stderr) {
  const began = Date.now()
  let printed = 0
  let kept = ''
  const show = (text) => {
    if (to.isTTY) to.write(`\r\x1b[2K${text}`)
    else if (Date.now() - printed >= LINE_EVERY_MS) {
      printed = Date.now()
      to.write(`${text}\n`)
    }
  }
  return {
    env: { CARGO_TERM_PROGRESS_WHEN: 'always', CARGO_TERM_PROGRESS_WIDTH: '100', CARGO_TERM_COLOR: 'never' },
    read(text) {
      kept = `${kept}${text}`.slice(-64 * 1024)
      const [, done, all] = [...text.matchAll(/Building \[[^\]]*\] (\d+)\/(\d+)/g)].at(-1) ?? []
      if (all !== undefined) show(`${what}: ${shown(Number(done), Number(all), Date.now() - began)}`)
    },
    end(isDone) {
      if (to.isTTY) to.write('\r\x1b[2K')
      if (!isDone) to.write(messages(kept))
      else to.write(`${what}: done in ${clock(Date.now() - began)}\n`)
    },
  }
}

function shown(done, all, elapsedMs) {
  const part = DEPENDENCIES_PART * (done / Math.max(1, all - 2))
  // The first crates are small in number and large in work: an estimate from them would be far too long.
  const leftMs = done < all / 3 ? null : elapsedMs / Math.min(0.97, part) - elapsedMs
  const left = leftMs === null ? '' : `, about ${Math.max(1, Math.round(leftMs / 60_000))} min left`
  return `${done} of ${all} crates, ${clock(elapsedMs)}${left}`
}

/** Cargo's output without its progress bar and the names of crates that compiled. */
const messages = (text) =>
  text
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== '' && !/^\s*(Building|Compiling|Downloaded|Downloading) /.test(line))
    .join('\n')
    .concat('\n')
