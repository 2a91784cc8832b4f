// C0 except tabs and line ends, DEL, and C1. A terminal may interpret them as commands.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be replaced
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/**
 * Prepares foreign text for a terminal: escapes control characters like JSON does, so that JSON text keeps its value.
 */
export function printable(text: string): string {
  return text.replaceAll(controls, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
