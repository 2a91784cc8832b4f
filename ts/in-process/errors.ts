/** Errors of an open directory that requests of the HTTP API do not have. */

/** A method was called after `close`. */
export class ClosedError extends Error {
  override readonly name = 'ClosedError'
  readonly code = 'instance_closed'

  constructor(method: string) {
    super(`\`${method}\` was called after \`close\`; open the directory again`)
  }
}

/** A method that writes was called on a directory opened with `readOnly`. */
export class ReadOnlyError extends Error {
  override readonly name = 'ReadOnlyError'
  readonly code = 'instance_read_only'

  constructor(method: string) {
    super(`\`${method}\` writes, but the directory is open read-only; open it without \`readOnly\``)
  }
}

/** `waitForTask` timed out. The task continues to run. */
export class TaskTimeoutError extends Error {
  override readonly name = 'TaskTimeoutError'
  readonly code = 'task_timeout'
  readonly taskUid: number

  constructor(taskUid: number, status: string) {
    super(`task ${taskUid} is still ${status}; wait for it again, or longer`)
    this.taskUid = taskUid
  }
}
