import type { Acknowledgement, Sender } from '../../replication/index.js'
import { type OpenedTasks, uploadOf } from '../../tasks/index.js'

/** What writes go through on their way to the task store. */
export type Writes = Pick<OpenedTasks, 'tasks' | 'instance' | 'webhooks'>

/**
 * The same, refusing writes that this server may not take.
 * @param ack `bucket`: a write is answered once the bucket has it too
 * @param isServing whether clients write: what a start writes by itself, such as the first keys, waits for no bucket
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
      sender.requireWritable()
      const result = await write(...given)
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
    },
    webhooks: {
      ...webhooks,
      put: acknowledged(webhooks.put),
      delete: acknowledged(webhooks.delete),
    },
  }
}
