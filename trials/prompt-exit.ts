/**
 * Imported before a trial: ends its process as soon as nothing is left to do. While Node.js 20 frees a process, it rarely
 * waits for ever, at full load of a core, for requests to a killed server.
 */
process.once('beforeExit', () => process.exit())
