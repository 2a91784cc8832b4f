/** How tests ask a server to stop in order. On Windows a signal would end it at once, with no exit code. */
import type { ChildProcess } from 'node:child_process'

/** The channel that `askToStop` needs, behind the three standard streams of a child process. */
export const stopChannel: readonly 'ipc'[] = process.platform === 'win32' ? ['ipc'] : []

/** Sends SIGTERM; on Windows, the message `shutdown`. */
export function askToStop(child: ChildProcess): void {
  if (process.platform === 'win32') child.send('shutdown')
  else child.kill('SIGTERM')
}
