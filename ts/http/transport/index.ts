/** Here is a connection: which rules hold for its requests and answers on every route? */
export { refuseMalformed, sendError, setUpTransport } from './transport.js'
export { closeIfUnread, UnreadAnswers } from './unread-answers.js'
