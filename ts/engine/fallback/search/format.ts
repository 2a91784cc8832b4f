/** Highlighted and cropped copies of a document. */
import type { SearchRequest } from '../../requests.js'
import type { JsonObject } from '../json.js'
import type { OpenIndex } from '../open-index.js'
import type { Candidates } from './candidates.js'

/** Writes `_formatted` and `_matchesPosition`. */
export class Formatter {
  private readonly asked: boolean

  constructor(
    _index: OpenIndex,
    request: SearchRequest,
    _candidates: Candidates,
    _retrieved: readonly string[] | null,
  ) {
    this.asked = request.showMatchesPosition
  }

  parts(_document: JsonObject): string[] {
    return this.asked ? ['"_matchesPosition":{}'] : []
  }
}
