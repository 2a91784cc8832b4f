/**
 * Reads JSON and query strings as typed values, and reports their first mistake. Each type has a JSON Schema.
 */
export { counted } from './counted.js'
export { cutText } from './cut-text.js'
export * from './fields.js'
export { readJson, readJsonInSlices, readJsonText } from './json.js'
export { isWithin } from './json-bounds.js'
export { type JsonNode, toText, toValue } from './json-node.js'
export { JsonText, jsonOf } from './json-text.js'
export { defaultJsonLimits, type JsonLimits } from './limits.js'
export {
  isDecimal,
  isHttpUrl,
  isUnsigned,
  readBytes,
  readMilliseconds,
  shortInteger,
  withoutTrailing,
} from './literals.js'
export { FILTER_LEVELS_MAX, isNestedBeyond } from './nesting.js'
export { ownValue } from './own.js'
export { printable } from './printable.js'
export * from './schema.js'
export * as shapes from './shape.js'
export { choices, suggestion } from './suggestion.js'
export * from './types.js'
export { type Slice, SplitError, ValueSplitter } from './value-splitter.js'
