declare module 'parse-prometheus-text-format' {
  /** Parses the Prometheus text format. Throws on an invalid line. */
  export default function parsePrometheus(text: string): readonly unknown[]
}
