/** Entry point of a thread that answers searches. */
import { parentPort, workerData } from 'node:worker_threads'
import { runLoop } from './run-loop.js'

if (parentPort !== null) void runLoop(workerData, parentPort)
