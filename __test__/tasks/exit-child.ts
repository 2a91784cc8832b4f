/** A process that exits without closing its task store: node exit-child.js DIRECTORY DRIVER TASKS [closed] */
import { join } from 'node:path'
import type { DriverName } from '../../ts/tasks/index.js'
import { openTasks } from '../../ts/tasks/index.js'
import { openFake } from './fake-engine.js'
import { create, quiet } from './test-queue.js'

const [directory = '', driver, tasks, how] = process.argv.slice(2)
const engine = await openFake(join(directory, 'indexes'))
const opened = await openTasks({ directory, engine, log: quiet, driver: driver as DriverName })
for (let at = 0; at < Number(tasks); at++) await opened.tasks.enqueue(create(`boats-${at}`))
if (how === 'closed') await opened.close()
process.exit()
