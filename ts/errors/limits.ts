/** Characters of an error message. Without a limit, a message that quotes a value would be as large as the request. */
export const MESSAGE_CHARS_MAX = 10_000
