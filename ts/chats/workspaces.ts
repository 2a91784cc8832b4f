import { ApiError } from '../errors/index.js'
import { CHATS_STORED_AS, type InTurn, inTurn, type StoredChatWorkspace } from '../instance/index.js'
import { isIndexUid } from '../operations/index.js'
import type { InstanceStore } from '../tasks/index.js'
import { WORKSPACES_MAX } from './limits.js'
import { completeSettings, mergedSettings, type SettingsPatch, type WorkspaceSettings } from './settings.js'

/** The workspaces of an instance. Reads them from its store at each call, since prompts can be long. */
export class WorkspaceBook {
  readonly #store: InstanceStore
  /** Changes run one after another. */
  readonly #turn: InTurn = inTurn()

  constructor(store: InstanceStore) {
    this.#store = store
  }

  /** Returns the uids of all workspaces, ascending. */
  async uids(): Promise<readonly string[]> {
    const names = await this.#store.valueNames(CHATS_STORED_AS)
    return names.map((name) => name.slice(CHATS_STORED_AS.length))
  }

  /** @throws ApiError `chat_not_found` */
  async settings(uid: string): Promise<WorkspaceSettings> {
    const stored = await this.#stored(uid)
    if (stored === null) throw notFound(uid)
    return completeSettings(stored)
  }

  /** Changes the settings of a workspace and returns them. Creates the workspace if there is none. @throws ApiError */
  change(uid: string, patch: SettingsPatch): Promise<WorkspaceSettings> {
    return this.#turn(async () => {
      const stored = await this.#stored(uid)
      const changed = mergedSettings(completeSettings(stored), patch)
      if (stored === null) await this.#requireSpace()
      await this.#store.putValue(`${CHATS_STORED_AS}${uid}`, changed)
      return changed
    })
  }

  /** Resets the settings of a workspace and returns them. @throws ApiError `chat_not_found` */
  reset(uid: string): Promise<WorkspaceSettings> {
    return this.#turn(async () => {
      await this.settings(uid)
      const settings = completeSettings(null)
      await this.#store.putValue(`${CHATS_STORED_AS}${uid}`, settings)
      return settings
    })
  }

  /** @throws ApiError `chat_not_found` */
  delete(uid: string): Promise<void> {
    return this.#turn(async () => {
      await this.settings(uid)
      await this.#store.deleteValue(`${CHATS_STORED_AS}${uid}`)
    })
  }

  async #stored(uid: string): Promise<StoredChatWorkspace | null> {
    return (await this.#store.value(`${CHATS_STORED_AS}${uid}`)) as StoredChatWorkspace | null
  }

  async #requireSpace(): Promise<void> {
    const { length } = await this.uids()
    if (length >= WORKSPACES_MAX)
      throw new ApiError('bad_request', `there are ${length} workspaces, the maximum: delete one first`)
  }
}

const notFound = (uid: string): ApiError =>
  new ApiError(
    'chat_not_found',
    `there is no chat workspace \`${uid}\`; PATCH /chats/${uid}/settings creates it`,
  )

/** @throws ApiError `invalid_index_uid` */
export function requireWorkspaceUid(uid: string): string {
  if (isIndexUid(uid)) return uid
  throw new ApiError(
    'invalid_index_uid',
    `\`${uid}\` is not a valid workspace uid; it is 1 to 400 characters long and made of a-z, A-Z, 0-9, hyphens and ` +
      'underscores',
  )
}
