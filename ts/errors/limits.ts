/**
 * Most characters of an error message. Without a limit, a message that quotes a value could be as long as the request.
 */
export const MESSAGE_CHARS_MAX = 10_000
