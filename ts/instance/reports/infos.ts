import type { OptionName, Run } from '../../launch/index.js'
import type { Feature, FeatureFlags } from '../features.js'

/** Features that are published under another name. */
const featureInfos: Readonly<Partial<Record<Feature, string>>> = {
  metrics: 'enable_metrics',
  logsRoute: 'enable_logs_route',
  editDocumentsByFunction: 'edit_documents_by_function',
  containsFilter: 'contains_filter',
  dynamicSearchRules: 'dynamic_search_rules',
  network: 'network',
  getTaskDocumentsRoute: 'get_task_documents_route',
  taskQueueCompactionRoute: 'task_queue_compaction_route',
  compositeEmbedders: 'composite_embedders',
  chatCompletions: 'chat_completions',
  multimodal: 'multimodal',
  foreignKeys: 'foreign_keys',
  legacySearch: 'legacy_search',
  renderRoute: 'render_route',
  tasksStreamingRoute: 'tasks_streaming_route',
}

/** Launch options and features for publication: harmless values as they are, of others only if they are set. */
export function infosOf(
  { options, given, configFile }: Pick<Run, 'options' | 'given' | 'configFile'>,
  flags: FeatureFlags,
): Readonly<Record<string, boolean | number | string | null>> {
  const features = Object.entries(featureInfos).map(
    ([feature, name]) => [`experimental_${name}`, flags[feature as Feature]] as const,
  )
  const isGiven = (name: OptionName): boolean => given.has(name)
  return {
    env: options.env,
    db_path: isGiven('dbPath'),
    import_dump: options.importDump !== null,
    dump_dir: isGiven('dumpDir'),
    ignore_missing_dump: options.ignoreMissingDump,
    ignore_dump_if_db_exists: options.ignoreDumpIfDbExists,
    import_snapshot: options.importSnapshot !== null,
    schedule_snapshot: options.scheduleSnapshot,
    snapshot_dir: isGiven('snapshotDir'),
    ignore_missing_snapshot: options.ignoreMissingSnapshot,
    ignore_snapshot_if_db_exists: options.ignoreSnapshotIfDbExists,
    http_addr: isGiven('httpAddr'),
    http_payload_size_limit: options.httpPayloadSizeLimit,
    log_level: options.logLevel,
    max_indexing_memory: options.maxIndexingMemory,
    max_indexing_threads: options.maxIndexingThreads,
    task_queue_webhook: options.taskWebhookUrl !== null,
    task_webhook_authorization_header: options.taskWebhookAuthorizationHeader !== null,
    ssl_auth_path: options.sslAuthPath !== null,
    ssl_cert_path: options.sslCertPath !== null,
    ssl_key_path: options.sslKeyPath !== null,
    ssl_ocsp_path: options.sslOcspPath !== null,
    ssl_require_auth: options.sslRequireAuth,
    ssl_resumption: options.sslResumption,
    ssl_tickets: options.sslTickets,
    with_configuration_file: configFile !== null,
    // No build uses a GPU.
    gpu_enabled: false,
    ...Object.fromEntries(features),
    experimental_personalization:
      options.experimentalPersonalizationApiKey !== null || options.experimentalPersonalizationUrl !== null,
    experimental_allowed_ip_networks: isGiven('experimentalAllowedIpNetworks'),
    experimental_no_edition_2024_for_settings: options.experimentalNoEdition2024ForSettings,
    experimental_replication_parameters: options.experimentalReplicationParameters,
    experimental_reduce_indexing_memory_usage: options.experimentalReduceIndexingMemoryUsage,
    experimental_dumpless_upgrade: options.upgradeDb,
    experimental_embedding_cache_entries: options.experimentalEmbeddingCacheEntries,
    experimental_logs_mode: options.experimentalLogsMode.toLowerCase(),
    experimental_search_queue_size: options.experimentalSearchQueueSize,
    experimental_drop_search_after: options.experimentalDropSearchAfter,
    experimental_nb_searches_per_core: options.experimentalNbSearchesPerCore,
    experimental_max_number_of_batched_tasks: options.experimentalMaxNumberOfBatchedTasks,
    experimental_limit_batched_tasks_total_size: options.experimentalLimitBatchedTasksTotalSize,
  }
}
