/** Default of `--to`. */
export const DEFAULT_TARGET = 'http://127.0.0.1:7700'
