/**
 * Messages that the tests of official clients compare.
 *
 * These match the API exactly; other messages are ours. In the native engine, messages about filters and sorting are in
 * `filter/rules.rs`, `filter/evaluate.rs` and `search/sort_request.rs`. The HTTP tests run on both engines.
 */

export const clientMessages = {
  /** Prefix of the messages of a search. */
  ofIndex: (indexUid: string) => `Index \`${indexUid}\`: `,

  /** JavaScript and Rust compare the complete message on the documents route, including the position in the filter. */
  notFilterable: (attribute: string, available: string) =>
    `Attribute \`${attribute}\` is not filterable. ${available}`,

  /**
   * Applications on top of the JavaScript and PHP clients compare it. On the documents route it has no index prefix.
   */
  notSortable: (attribute: string, attributes: readonly string[]) =>
    `Attribute \`${attribute}\` is not sortable. ${
      attributes.length === 0
        ? 'This index does not have configured sortable attributes.'
        : `Available sortable attributes are: \`${attributes.join(', ')}\`.`
    }`,

  /** JavaScript compares the complete message when it deletes documents by filter. */
  emptyFilter: 'Sending an empty filter is forbidden.',

  /** JavaScript compares it by a regular expression. Both times are Unix seconds. */
  tenantTokenExpired: (exp: number, now: number) =>
    `Tenant token expired. Was valid up to \`${exp}\` and we're now \`${now}\`.`,

  /** Rust compares the complete message. */
  invalidKey: 'The provided API key is invalid.',

  /** Rust compares the complete message when it deletes a key. */
  keyNotFound: (uidOrKey: string) => `API key \`${uidOrKey}\` not found.`,

  /** Applications on top of the Swift client search for it and then create the index. Tasks have the same message. */
  indexNotFound: (uid: string) => `Index \`${uid}\` not found.`,
} as const
