/** Attempts of a call by a command that a person waits for. */
export const ATTEMPTS_MAX = 3
