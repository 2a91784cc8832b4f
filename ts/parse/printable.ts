// C0 but tabs and line ends, DEL, and C1, which a terminal may take for commands.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be replaced
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/**
 * A text that came from elsewhere, for a terminal: control characters as JSON escapes them, so that JSON stays the same
 * value.
 */
export function printable(text: string): string {
  return text.replaceAll(controls, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
