import type { Sender } from '../../replication/index.js'
import type { OpenedTasks } from '../../tasks/index.js'

/** What writes go through on their way to the task store. */
export type Writes = Pick<OpenedTasks, 'tasks' | 'instance' | 'webhooks'>

/**
 * The same, refusing writes once another server has taken over.
 * @param ack `bucket`: a write is answered once the bucket has it too, and refused while the bucket is away
 * @param isServing whether clients write: what a start writes by itself, such as the first keys, waits for no bucket
 */
export function acknowledging(
  { tasks, instance, webhooks }: Writes,
  sender: Sender,
  ack: 'local' | 'bucket',
  isServing: () => boolean,
): Writes {
  const acknowledged =
    <A extends readonly unknown[], R>(write: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      if (!isServing()) return write(...given)
      if (ack === 'local') sender.requireLead()
      else sender.requireBucket()
      const result = await write(...given)
      if (ack === 'bucket') await sender.acknowledged()
      return result
    }
  return {
    tasks: { ...tasks, enqueue: acknowledged(tasks.enqueue) },
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
