/** Here is a long step: how far is it, on a terminal or in a log? */

/** Milliseconds between two lines if there is no terminal. */
const LOG_MS = 10_000
/** Updates of the bar in a second. */
const FRAMES_PER_SECOND = 10

/** Takes a line from time to time if there is no terminal. */
export type ProgressLog = (doing: string, finished: number, total: number) => void

/** Shows the progress of a long start or command. */
export interface Progress {
  /** @param total 0: unknown */
  show(doing: string, finished: number, total: number, detail?: string): void
  /** Erases the bar from the terminal. */
  end(): void
}

/** A bar with the time left on a terminal; without a terminal, a line of the log from time to time. */
export async function openProgress(terminal: NodeJS.WriteStream, log: ProgressLog): Promise<Progress> {
  if (!terminal.isTTY) return lines(log)
  const { default: library } = await import('cli-progress')
  const bar = new library.SingleBar({
    stream: terminal,
    format: ({ barsize = 30 }, { progress, eta, total, value }, { doing, detail }) => {
      const tail = detail === '' ? '' : `  ${detail}`
      if (total === 0) return `${doing}${tail}`
      const full = Math.round(progress * barsize)
      const left = value === 0 || value >= total ? '' : `  ${shownSeconds(Number(eta))} left`
      const percent = `${Math.floor(progress * 100)}`.padStart(3)
      return `${doing} ${'█'.repeat(full)}${'░'.repeat(barsize - full)} ${percent} %${tail}${left}`
    },
    fps: FRAMES_PER_SECOND,
    clearOnComplete: true,
    hideCursor: null,
    // A signal ends the process as it does without a bar.
    gracefulExit: false,
    // A line longer than the terminal is wide is cut, and the terminal's own setting stays.
    linewrap: null,
    // The time left follows the pace of about the last ten seconds.
    etaBuffer: 100,
  })
  return {
    show(doing, finished, total, detail = '') {
      const payload = { doing, detail }
      if (bar.isActive && bar.getTotal() === total) bar.update(finished, payload)
      else bar.start(total, finished, payload)
    },
    end() {
      if (bar.isActive) bar.stop()
    },
  }
}

function lines(log: ProgressLog): Progress {
  let shownAt = performance.now()
  return {
    show(doing, finished, total) {
      if (performance.now() - shownAt < LOG_MS) return
      shownAt = performance.now()
      log(doing, finished, total)
    },
    end: () => undefined,
  }
}

/** Seconds in the largest fitting units, such as `2 min 5 s`. */
export function shownSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?'
  const whole = Math.max(1, Math.ceil(seconds))
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}
