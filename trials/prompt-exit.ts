/**
 * Imported before a trial: ends its process as soon as nothing is left to do. Node.js 20 sometimes does not end a process
 * by itself: it keeps a core busy and waits for requests to a killed server.
 */
process.once('beforeExit', () => process.exit())
