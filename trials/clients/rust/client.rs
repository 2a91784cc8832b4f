//! The steps of `../steps.ts` with the Rust SDK.

use std::collections::HashMap;
use std::env::var;
use std::error::Error;
use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use meilisearch_sdk::client::{Client, SwapIndexes};
use meilisearch_sdk::documents::{DocumentDeletionQuery, DocumentsQuery};
use meilisearch_sdk::errors::{Error as SdkError, ErrorCode};
use meilisearch_sdk::indexes::Index;
use meilisearch_sdk::key::{Action, KeyBuilder};
use meilisearch_sdk::search::{FacetSearchQuery, FederationOptions, SearchResults, Selectors};
use meilisearch_sdk::settings::{Embedder, EmbedderSource, Settings};
use meilisearch_sdk::task_info::TaskInfo;
use meilisearch_sdk::tasks::{Task, TaskType, TasksCancelQuery, TasksSearchQuery};
use serde_json::{json, Value};
use time::OffsetDateTime;

type Outcome = Result<(), Box<dyn Error>>;

async fn step(name: &str, run: impl Future<Output = Outcome>) {
    match run.await {
        Ok(()) => println!("passed {name}"),
        Err(failure) => println!("failed {name}: {}", failure.to_string().replace('\n', " ")),
    }
}

fn same<T: PartialEq + Debug>(actual: T, expected: T) -> Outcome {
    if actual == expected {
        Ok(())
    } else {
        Err(format!("{actual:?} instead of {expected:?}").into())
    }
}

/// Waits for a task, which must succeed.
async fn done(client: &Client, info: TaskInfo) -> Result<TaskType, Box<dyn Error>> {
    let interval = Some(Duration::from_millis(20));
    let timeout = Some(Duration::from_secs(30));
    match client.wait_for_task(info, interval, timeout).await? {
        Task::Succeeded { content } => Ok(content.update_type),
        other => Err(format!("{other:?}").into()),
    }
}

fn ids(values: impl IntoIterator<Item = Value>) -> Vec<u64> {
    values.into_iter().filter_map(|film| film["id"].as_u64()).collect()
}

fn found(results: &SearchResults<Value>) -> Vec<u64> {
    ids(results.hits.iter().map(|hit| hit.result.clone()))
}

fn code<T>(answer: Result<T, SdkError>) -> Result<ErrorCode, Box<dyn Error>> {
    match answer {
        Err(SdkError::Meilisearch(error)) => Ok(error.error_code),
        Err(other) => Err(other.into()),
        Ok(_) => Err("no error was returned".into()),
    }
}

async fn lists(client: &Client, uid: &str) -> Result<bool, SdkError> {
    Ok(client.get_keys().await?.results.iter().any(|key| key.uid == uid))
}

fn search_key(name: Option<&str>, expires_at: Option<OffsetDateTime>) -> KeyBuilder {
    let mut key = KeyBuilder::new();
    key.with_action(Action::Search).with_index("films");
    if let Some(name) = name {
        key.with_name(name);
    }
    if let Some(expires_at) = expires_at {
        key.with_expires_at(expires_at);
    }
    key
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let (url, master_key) = (var("CLIENTS_URL")?, var("CLIENTS_MASTER_KEY")?);
    let client = &Client::new(&url, Some(master_key))?;
    let index: &Index = &client.index("films");
    let in_an_hour = OffsetDateTime::now_utc() + Duration::from_secs(3600);

    step("health", async {
        same(client.health().await?.status, "available".to_owned())?;
        same(client.is_healthy().await, true)
    })
    .await;
    step("version", async {
        same(client.get_version().await?.pkg_version.matches('.').count(), 2)
    })
    .await;
    step("create-index", async {
        let task = done(client, client.create_index("films", Some("id")).await?).await?;
        same(matches!(task, TaskType::IndexCreation { .. }), true)?;
        same(client.get_index("films").await?.primary_key, Some("id".to_owned()))
    })
    .await;
    step("settings", async {
        let plain = Embedder { source: EmbedderSource::UserProvided, dimensions: Some(2), ..Embedder::default() };
        let settings = Settings::new()
            .with_filterable_attributes(["genre", "year"])
            .with_sortable_attributes(["year"])
            .with_synonyms(HashMap::from([("movie", ["film"])]))
            .with_embedders(HashMap::from([("plain", plain)]));
        done(client, index.set_settings(&settings).await?).await?;
        let read = index.get_settings().await?;
        same(json!(read.filterable_attributes), json!(["genre", "year"]))?;
        same(json!(read.synonyms), json!({ "movie": ["film"] }))?;
        same(read.embedders.and_then(|embedders| embedders["plain"].dimensions), Some(2))
    })
    .await;
    step("add-documents", async {
        let films = [
            json!({ "id": 1, "title": "Solaris", "genre": "drama", "year": 1972, "_vectors": { "plain": [1, 0] } }),
            json!({ "id": 2, "title": "Alien", "genre": "horror", "year": 1979, "_vectors": { "plain": [0, 1] } }),
            json!({ "id": 3, "title": "Stalker", "genre": "drama", "year": 1979, "_vectors": { "plain": [0.9, 0.1] } }),
            json!({ "id": 4, "title": "The Lighthouse", "genre": "horror", "year": 2019, "_vectors": { "plain": [0.1, 0.9] } }),
        ];
        match done(client, index.add_documents(&films, None).await?).await? {
            TaskType::DocumentAdditionOrUpdate { details: Some(details) } => {
                same((details.received_documents, details.indexed_documents), (4, Some(4)))
            }
            other => Err(format!("{other:?}").into()),
        }
    })
    .await;
    step("typo", async {
        same(found(&index.search().with_query("lihgthouse").execute().await?), vec![4])
    })
    .await;
    step("filter", async {
        let filter = vec!["genre = drama", "year > 1975"];
        same(found(&index.search().with_array_filter(filter).execute().await?), vec![3])
    })
    .await;
    step("facets", async {
        let facets = Selectors::Some(&["genre", "year"][..]);
        let results: SearchResults<Value> = index.search().with_facets(facets).execute().await?;
        let counts = results.facet_distribution.ok_or("no facets")?;
        same(json!(counts["genre"]), json!({ "drama": 2, "horror": 2 }))?;
        let year = &results.facet_stats.ok_or("no stats")?["year"];
        same((year.min, year.max), (1972.0, 2019.0))
    })
    .await;
    step("sort", async {
        same(found(&index.search().with_sort(&["year:desc"]).execute().await?), vec![4, 2, 3, 1])
    })
    .await;
    step("pages", async {
        let results = index.search().with_hits_per_page(3).with_page(2).execute().await?;
        same((found(&results), results.total_hits, results.total_pages), (vec![4], Some(4), Some(2)))
    })
    .await;
    step("highlight", async {
        let attributes = Selectors::Some(&["title"][..]);
        let results: SearchResults<Value> =
            index.search().with_query("sola").with_attributes_to_highlight(attributes).execute().await?;
        let formatted = results.hits[0].formatted_result.clone().ok_or("nothing formatted")?;
        same(formatted["title"].clone(), json!("<em>Sola</em>ris"))
    })
    .await;
    step("facet-search", async {
        let results = FacetSearchQuery::new(index, "genre").with_facet_query("hor").build().execute().await?;
        let hits: Vec<_> = results.facet_hits.iter().map(|hit| (hit.value.as_str(), hit.count)).collect();
        same(hits, vec![("horror", 2)])
    })
    .await;
    step("multi-search", async {
        let answers = client
            .multi_search()
            .with_search_query(index.search().with_query("alien").build())
            .with_search_query(index.search().with_query("stalker").build())
            .execute::<Value>()
            .await?;
        same(answers.results.iter().map(found).collect(), vec![vec![2], vec![3]])
    })
    .await;
    step("federated", async {
        let mut searches = client.multi_search();
        searches
            .with_search_query(index.search().with_query("alien").build())
            .with_search_query_and_weight(index.search().with_query("stalker").build(), 2.0);
        let options = FederationOptions { limit: Some(5), ..FederationOptions::default() };
        let results = searches.with_federation(options).execute::<Value>().await?;
        same(ids(results.hits.iter().map(|hit| hit.result.clone())), vec![3, 2])?;
        same(results.hits[0].federation.as_ref().map(|origin| origin.queries_position), Some(1))
    })
    .await;
    step("hybrid", async {
        let results =
            index.search().with_vector(&[1.0, 0.0]).with_hybrid("plain", 1.0).with_limit(2).execute().await?;
        same(found(&results), vec![1, 3])
    })
    .await;
    step("similar", async {
        let results = index.similar_search("2", "plain").with_limit(1).execute::<Value>().await?;
        same(ids(results.hits.into_iter().map(|hit| hit.result)), vec![4])
    })
    .await;
    step("get-document", async {
        same(index.get_document::<Value>("2").await?["title"].clone(), json!("Alien"))?;
        let mut query = DocumentsQuery::new(index);
        query.with_filter("genre = drama").with_fields(["id"]);
        let page = index.get_documents_with::<Value>(&query).await?;
        same((ids(page.results), page.total), (vec![1, 3], 2))
    })
    .await;
    step("update-document", async {
        done(client, index.add_or_update(&[json!({ "id": 2, "year": 1980 })], None).await?).await?;
        let alien = index.get_document::<Value>("2").await?;
        same((alien["title"].clone(), alien["year"].clone()), (json!("Alien"), json!(1980)))
    })
    .await;
    step("delete-document", async {
        done(client, index.delete_document(3).await?).await?;
        let mut query = DocumentDeletionQuery::new(index);
        query.with_filter("year = 1980");
        done(client, index.delete_documents_with(&query).await?).await?;
        same(found(&index.search().execute().await?), vec![1, 4])
    })
    .await;
    step("stats", async {
        same(index.get_stats().await?.number_of_documents, 2)?;
        same(client.get_stats().await?.indexes["films"].number_of_documents, 2)
    })
    .await;
    step("keys", async {
        let key = client.create_key(search_key(Some("for a moment"), Some(in_an_hour))).await?;
        same(lists(client, &key.uid).await?, true)?;
        same(client.get_key(&key.uid).await?.actions, vec![Action::Search])?;
        client.delete_key(&key.uid).await?;
        same(lists(client, &key.uid).await?, false)
    })
    .await;
    step("tenant-token", async {
        let key = client.create_key(search_key(None, None)).await?;
        let rules = json!({ "films": { "filter": "genre = drama" } });
        let token = client.generate_tenant_token(key.uid, rules, Some(&key.key), Some(in_an_hour))?;
        let tenant = Client::new(&url, Some(token))?;
        same(found(&tenant.index("films").search().execute().await?), vec![1])
    })
    .await;
    step("error", async {
        same(code(client.get_index("ghost").await)?, ErrorCode::IndexNotFound)?;
        let stranger = Client::new(&url, Some("wrong"))?;
        same(code(stranger.get_keys().await)?, ErrorCode::InvalidApiKey)
    })
    .await;
    step("failed-task", async {
        let info = index.add_documents(&[json!({ "title": "without an id" })], None).await?;
        let task = client.wait_for_task(info, Some(Duration::from_millis(20)), None).await?;
        same(task.is_failure(), true)?;
        same(task.unwrap_failure().error_code, ErrorCode::MissingDocumentId)
    })
    .await;
    step("tasks", async {
        let mut query = TasksSearchQuery::new(client);
        query.with_types(["documentDeletion"]).with_index_uids(["films"]);
        let listed = query.execute().await?;
        same((listed.results.len(), listed.total), (2, 2))?;
        same(client.get_task(&listed.results[0]).await?.is_success(), true)
    })
    .await;
    step("batches", async {
        let newest = client.get_batches().await?.results[0].uid;
        let batch = client.get_batch(newest).await?;
        same((batch.uid, batch.finished_at.is_some()), (newest, true))
    })
    .await;
    step("cancel", async {
        let mut query = TasksCancelQuery::new(client);
        query.with_statuses(["enqueued", "processing"]);
        match done(client, client.cancel_tasks_with(&query).await?).await? {
            TaskType::TaskCancelation { details: Some(details) } => same(details.canceled_tasks, Some(0)),
            other => Err(format!("{other:?}").into()),
        }
    })
    .await;
    step("swap-indexes", async {
        done(client, client.create_index("others", None).await?).await?;
        let swap = SwapIndexes { indexes: ("films".to_owned(), "others".to_owned()), rename: None };
        done(client, client.swap_indexes([&swap]).await?).await?;
        same(found(&client.index("others").search().execute().await?), vec![1, 4])
    })
    .await;
    step("dump", async {
        match done(client, client.create_dump().await?).await? {
            TaskType::DumpCreation { details: Some(details) } => same(details.dump_uid.is_some(), true),
            other => Err(format!("{other:?}").into()),
        }
    })
    .await;
    step("delete-index", async {
        done(client, client.delete_index("films").await?).await?;
        done(client, client.delete_index("others").await?).await?;
        same(client.list_all_indexes().await?.total, 0)
    })
    .await;
    Ok(())
}
