/** Here is a request: what does its body hold, and does the process have memory for it? */
export { boundBodies, jsonBody, mimeType, type UnparsedBody, unparsedBody } from './body.js'
export { BodyBudget } from './budget.js'
export { receiveUpload } from './uploads.js'
