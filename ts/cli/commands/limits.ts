/** Attempts of a call in an interactive command. */
export const ATTEMPTS_MAX = 3
