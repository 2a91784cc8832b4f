/** Traces of requests and batches in the form of OpenTelemetry. Loaded only while tracing is on. */
export { type TracedBatch, tracedBatch } from './batches.js'
export { type CallPurpose, tracedEmbedders, tracedEngine, tracedOutbound, tracedRerankers } from './calls.js'
export type { ExportFigures } from './exporter.js'
export type { Span } from './span.js'
export { Tracer, type TracerSetup } from './tracer.js'
