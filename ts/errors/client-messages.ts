/**
 * Which messages do the tests of official clients compare?
 *
 * These match the API to the letter; others are ours. The native engine spells the ones about filters and sorting in
 * `filter/rules.rs`, `filter/evaluate.rs` and `search/sort_request.rs`; the HTTP tests run on both engines.
 */

const quoted = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ')

export const clientMessages = {
  /** What stands before the messages of a search. */
  ofIndex: (indexUid: string) => `Index \`${indexUid}\`: `,

  /** JavaScript and Rust compare it whole on the documents route, with the place that the filter adds below it. */
  notFilterable: (attribute: string, patterns: readonly string[]) =>
    `Attribute \`${attribute}\` is not filterable. ${
      patterns.length === 0
        ? 'This index does not have configured filterable attributes.'
        : `Available filterable attribute patterns are: ${quoted(patterns)}.`
    }`,

  /** Applications on top of the JavaScript and PHP clients compare it; the documents route has no index before it. */
  notSortable: (attribute: string, attributes: readonly string[]) =>
    `Attribute \`${attribute}\` is not sortable. ${
      attributes.length === 0
        ? 'This index does not have configured sortable attributes.'
        : `Available sortable attributes are: \`${attributes.join(', ')}\`.`
    }`,

  /** JavaScript compares it whole for a deletion of documents by filter. */
  emptyFilter: 'Sending an empty filter is forbidden.',

  /** JavaScript compares it by a regular expression; both times are Unix seconds. */
  tenantTokenExpired: (exp: number, now: number) =>
    `Tenant token expired. Was valid up to \`${exp}\` and we're now \`${now}\`.`,

  /** Applications on top of the Swift client look for it to create the index. Tasks say the same. */
  indexNotFound: (uid: string) => `Index \`${uid}\` not found.`,
} as const
