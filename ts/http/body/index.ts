/** Reads request bodies and bounds the memory that they take. */
export {
  boundBodies,
  contentType,
  jsonBody,
  mimeType,
  shortBody,
  type UnparsedBody,
  unparsedBody,
} from './body.js'
export { receiveUpload } from './uploads.js'
