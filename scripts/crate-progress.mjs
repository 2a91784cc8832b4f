// Shows the progress of cargo: `compiling the native engine: 57 of 203 crates, 1:20, about 2 min left`.
// A terminal shows one line that is rewritten. Otherwise prints a line every fifteen seconds.

/** Share of the build time for all crates except the last, which is ours. Measured on two cores. */
const DEPENDENCIES_PART = 0.65
const LINE_EVERY_MS = 15_000

const clock = (ms) => `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`

/**
 * Parses the stderr of cargo, run with `env`.
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
  // The first crates are few but expensive, so an estimate from them would be far too long.
  const leftMs = done < all / 3 ? null : elapsedMs / Math.min(0.97, part) - elapsedMs
  const left = leftMs === null ? '' : `, about ${Math.max(1, Math.round(leftMs / 60_000))} min left`
  return `${done} of ${all} crates, ${clock(elapsedMs)}${left}`
}

/** Removes the progress bar and the names of compiled crates from cargo's output. */
const messages = (text) =>
  text
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== '' && !/^\s*(Building|Compiling|Downloaded|Downloading) /.test(line))
    .join('\n')
    .concat('\n')
