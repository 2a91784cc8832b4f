/** What to do about errors whose message cannot say it, by their code. */
import { own } from './own.ts'

const fixes: Readonly<Record<string, string>> = {
  no_answer: 'The page asks again as soon as you do something.',
  missing_authorization_header: 'Give a key: this instance is protected.',
  invalid_api_key:
    'The key is not known here, has expired, or may not do this. Change it with “Key”, top right.',
  index_not_found: 'It may have been deleted or renamed since the list was loaded.',
  index_primary_key_no_candidate_found:
    'Name the attribute that tells the documents apart as the primary key when you import.',
  index_primary_key_multiple_candidates_found:
    'Name one of these attributes as the primary key when you import.',
  missing_document_id: 'Every document needs a value in the primary key.',
  invalid_document_id: 'Ids are whole numbers, or texts of a-z, A-Z, 0-9, - and _, of at most 511 bytes.',
  malformed_payload: 'Check the file at the place that is named, and its format.',
  payload_too_large: 'Split the file, or start the server with a larger --http-payload-size-limit.',
  no_space_left_on_device: 'Free space on the disk of the data directory; the task can then be sent again.',
  feature_not_enabled:
    'Features are switched on by PATCH /experimental-features, or by options of the start.',
  too_many_search_requests: 'The server is busy. The search can be repeated in some seconds.',
  vector_embedding_error: 'Look at the provider’s key, address and limits in the settings of the embedder.',
  canceled: 'Send it again if it is still wanted.',
}

export const fixOf = (code: string): string | null => own(fixes, code) ?? null
