import { ApiError } from '../errors/index.js'

/** Returns true if an error of any layer means that the disk is full. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 'no_space_left_on_device'
  const { code, message } = error as { code?: unknown; message?: unknown }
  return (
    code === 'ENOSPC' ||
    code === 'EDQUOT' ||
    (typeof message === 'string' &&
      /ENOSPC|EDQUOT|no space left on device|database or disk is full/i.test(message))
  )
}
