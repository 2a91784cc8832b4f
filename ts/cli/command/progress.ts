/** Progress of long steps, on a terminal or in a log. */

/** Milliseconds between two lines without a terminal. */
const LOG_MS = 10_000
/** Updates of the bar per second. */
const FRAMES_PER_SECOND = 10

/** Receives a line from time to time if there is no terminal. */
export type ProgressLog = (doing: string, finished: number, total: number) => void

/** Shows the progress of a long start or command. */
export interface Progress {
  /** @param total 0: unknown */
  show(doing: string, finished: number, total: number, detail?: string): void
  /** Erases the bar from the terminal. */
  end(): void
}

/** Shows a bar with the remaining time on a terminal. Without a terminal it logs a line from time to time. */
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
    // Signals are handled as without a bar.
    gracefulExit: false,
    // Cuts lines at the width of the terminal and keeps the wrap setting of the terminal.
    linewrap: null,
    // The remaining time is computed from the rate of about the last ten seconds.
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

/** Formats seconds in the largest fitting units, such as `2 min 5 s`. */
export function shownSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?'
  const whole = Math.max(1, Math.ceil(seconds))
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}
