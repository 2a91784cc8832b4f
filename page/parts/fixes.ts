/** Advice by error code, for errors whose message cannot give it. */
import { own } from './own.ts'

const fixes: Readonly<Record<string, string>> = {
  no_answer: 'The page tries again with your next action.',
  missing_authorization_header: 'Enter a key with “Key”, top right: this instance is protected.',
  invalid_api_key:
    'The key is unknown, has expired, or may not do this. Change it with “Change key”, top right.',
  index_not_found: 'It may have been deleted or renamed since the list was loaded.',
  index_primary_key_no_candidate_found:
    'When you import, set the primary key to the attribute that identifies the documents.',
  index_primary_key_multiple_candidates_found:
    'When you import, set the primary key to one of these attributes.',
  missing_document_id: 'Every document needs a value in the primary key.',
  invalid_document_id: 'Ids are whole numbers, or texts of a-z, A-Z, 0-9, - and _ with at most 511 bytes.',
  malformed_payload: 'Check the file at the given position, and its format.',
  payload_too_large:
    'Run `siftd import FILE --index UID`, which sends a file in parts, or start the server with a larger --http-payload-size-limit.',
  no_space_left_on_device: 'Free space on the disk of the data directory, then send the task again.',
  feature_not_enabled: 'Enable features with PATCH /experimental-features or launch options.',
  too_many_search_requests: 'The server is busy. Repeat the search in a few seconds.',
  vector_embedding_error: 'Check the provider’s key, URL and limits in the settings of the embedder.',
  canceled: 'Send it again if you still need it.',
}

export const fixOf = (code: string): string | null => own(fixes, code) ?? null
