/** The options of a search whose hits show nothing besides their documents, for searches that the engine makes itself. */
export const plainSearch = {
  attributesToCrop: null,
  cropLength: 10,
  cropMarker: '…',
  attributesToHighlight: null,
  highlightPreTag: '<em>',
  highlightPostTag: '</em>',
  showMatchesPosition: false,
  sort: null,
  distinct: null,
  facets: null,
  hybrid: null,
  vector: null,
  requestUid: '',
  metadata: null,
} as const
