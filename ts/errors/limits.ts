/** Characters of a message; one that quotes a value of megabytes would make an answer as large as the request. */
export const MESSAGE_CHARS_MAX = 10_000
