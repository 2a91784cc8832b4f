import { type OpenedTasks, uploadOf } from '../../tasks/index.js'
import type { Sender } from '../publish/sender.js'
import type { Acknowledgement } from '../publish/sender-setup.js'

/** The parts of an instance that accept writes. */
export type Writes = Pick<OpenedTasks, 'tasks' | 'instance' | 'webhooks'>

/**
 * Wraps writes: refuses them if this server may not accept them.
 * @param ack `bucket`: a write resolves only after the bucket has it
 * @param isServing returns false during startup: writes of the startup itself, such as the first keys, do not wait for
 * the bucket
 */
export function acknowledging(
  { tasks, instance, webhooks }: Writes,
  sender: Sender,
  ack: Acknowledgement,
  isServing: () => boolean,
): Writes {
  const acknowledged =
    <A extends readonly unknown[], R>(write: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      if (!isServing()) return write(...given)
      const result = await sender.write(() => write(...given))
      if (ack === 'bucket') await sender.acknowledged()
      return result
    }
  const enqueue = acknowledged(tasks.enqueue)
  return {
    tasks: {
      ...tasks,
      async enqueue(task) {
        const { content } = task
        const upload = isServing() ? uploadOf(content) : null
        if (upload === null || content.kind !== 'documents') return enqueue(task)
        const named = await sender.takeUpload(upload, content.payloadBytes)
        try {
          return await enqueue(task)
        } finally {
          named()
        }
      },
    },
    instance: {
      ...instance,
      putKey: acknowledged(instance.putKey),
      deleteKey: acknowledged(instance.deleteKey),
      putValue: acknowledged(instance.putValue),
      deleteValue: acknowledged(instance.deleteValue),
    },
    webhooks: {
      ...webhooks,
      put: acknowledged(webhooks.put),
      delete: acknowledged(webhooks.delete),
      delivered: (...given) => sender.note(() => webhooks.delivered(...given)),
    },
  }
}
