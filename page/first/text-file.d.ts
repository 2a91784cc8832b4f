/** The bundler includes these files as text. */
declare module '*.ndjson' {
  const text: string
  export default text
}
