declare module 'parse-prometheus-text-format' {
  /** Reads the text format of Prometheus. Throws for a line that it does not define. */
  export default function parsePrometheus(text: string): readonly unknown[]
}
