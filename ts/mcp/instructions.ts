/** Tells an agent how to use the tools. */
export const instructions = `This server searches documents. Work in this order:
1. listIndexes: the uids of the indexes.
2. describeIndex: fields and their types, attributes for filters and sorts, example values and valid filters.
3. searchInIndexes: one or several searches. Search words go to \`q\`, conditions to \`filter\`. An empty \`q\` matches all
   documents, so counting is a search with a filter and \`limit\` 0; \`facets\` count values.
facetSearch finds values of one attribute, getDocuments reads documents by id, explainHit tells why a document is a hit or not.

Filters: \`genres = "Drama" AND (year 1990 TO 1999 OR rating > 8)\`. Operators: = != > >= < <= TO IN [a, b] EXISTS
IS NULL IS EMPTY, with AND, OR, NOT and parentheses. Quote text. Only \`filterableAttributes\` can be filtered.
Where an index has \`embedders\`, a search counts words and meaning; \`"hybrid": null\` counts words alone.
An error says what to change. Answers longer than 64 KiB are cut and have a member \`truncated\`.`
