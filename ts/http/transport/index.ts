/** Here is a connection: what holds for its requests and answers, whichever route they belong to? */
export { refuseGarbage, sendError, setUpTransport } from './transport.js'
export { closeIfUnread, UnreadAnswers } from './unread-answers.js'
