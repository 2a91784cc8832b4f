/** Asks a server to shut down. On Windows a signal would kill it at once, without an exit code. */
import type { ChildProcess } from 'node:child_process'

/** The stdio channel that `askToStop` needs, after the three standard streams of a child process. */
export const stopChannel: readonly 'ipc'[] = process.platform === 'win32' ? ['ipc'] : []

/** Sends SIGTERM, or the message `shutdown` on Windows. */
export function askToStop(child: ChildProcess): void {
  if (process.platform === 'win32') child.send('shutdown')
  else child.kill('SIGTERM')
}
