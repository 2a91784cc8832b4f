import { LaunchError } from '../../launch/index.js'
import { printable } from '../../parse/index.js'

/** An instance cannot be reached or refused a call. The message is one line and shows no key. */
export class PeerError extends LaunchError {
  override readonly name = 'PeerError'

  /**
   * @param status of the answer; null if there was none
   * @param apiCode error code of the answer; null if there was none
   */
  constructor(
    message: string,
    readonly status: number | null = null,
    readonly apiCode: string | null = null,
    options?: ErrorOptions,
  ) {
    super(printable(message.replaceAll(/\s+/g, ' ')), 1, options)
  }
}
