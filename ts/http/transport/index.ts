/** Rules for all connections, requests and answers. */
export { refuseMalformed, sendError, setUpTransport } from './transport.js'
export { closeIfUnread, UnreadAnswers } from './unread-answers.js'
