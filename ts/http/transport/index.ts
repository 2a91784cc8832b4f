/** Rules for all connections, requests and answers. */
export { InnerCalls } from './inner-calls.js'
export { type OnError, refuseMalformed, sendError, setUpTransport } from './transport.js'
export { closeAfterAnswers, closeIfUnread, sendEvents, UnreadAnswers } from './unread-answers.js'
