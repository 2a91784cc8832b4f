"""The steps of `../steps.ts` with the Python SDK."""

import os
from datetime import datetime, timedelta, timezone

import meilisearch
from meilisearch.errors import MeilisearchApiError

URL = os.environ["CLIENTS_URL"]
MASTER_KEY = os.environ["CLIENTS_MASTER_KEY"]
client = meilisearch.Client(URL, MASTER_KEY)
index = client.index("films")


def done(info):
    """Waits for a task, which must succeed."""
    task = client.wait_for_task(info.task_uid, timeout_in_ms=30_000, interval_in_ms=20)
    same(task.status, "succeeded")
    return task


def same(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")


def ids(answer):
    return [hit["id"] for hit in answer["hits"]]


def refusal(call):
    try:
        call()
    except MeilisearchApiError as error:
        return error
    raise AssertionError("no error was raised")


def health():
    same(client.health()["status"], "available")
    same(client.is_healthy(), True)


def version():
    same(client.get_version()["pkgVersion"].count("."), 2)


def create_index():
    same(done(client.create_index("films", {"primaryKey": "id"})).type, "indexCreation")
    same(client.get_index("films").primary_key, "id")


def settings():
    done(
        index.update_settings(
            {
                "filterableAttributes": ["genre", "year"],
                "sortableAttributes": ["year"],
                "synonyms": {"movie": ["film"]},
                "embedders": {"plain": {"source": "userProvided", "dimensions": 2}},
            }
        )
    )
    read = index.get_settings()
    same(read["filterableAttributes"], ["genre", "year"])
    same(read["synonyms"], {"movie": ["film"]})
    same(index.get_embedders().embedders["plain"].dimensions, 2)


def add_documents():
    task = done(
        index.add_documents(
            [
                {"id": 1, "title": "Solaris", "genre": "drama", "year": 1972, "_vectors": {"plain": [1, 0]}},
                {"id": 2, "title": "Alien", "genre": "horror", "year": 1979, "_vectors": {"plain": [0, 1]}},
                {"id": 3, "title": "Stalker", "genre": "drama", "year": 1979, "_vectors": {"plain": [0.9, 0.1]}},
                {"id": 4, "title": "The Lighthouse", "genre": "horror", "year": 2019, "_vectors": {"plain": [0.1, 0.9]}},
            ]
        )
    )
    same(task.details, {"receivedDocuments": 4, "indexedDocuments": 4})


def typo():
    same(ids(index.search("lihgthouse")), [4])


def filter_():
    same(ids(index.search("", {"filter": ["genre = drama", "year > 1975"]})), [3])


def facets():
    found = index.search("", {"facets": ["genre", "year"]})
    same(found["facetDistribution"]["genre"], {"drama": 2, "horror": 2})
    same(found["facetStats"]["year"], {"min": 1972, "max": 2019})


def sort():
    same(ids(index.search("", {"sort": ["year:desc"]})), [4, 2, 3, 1])


def pages():
    found = index.search("", {"hitsPerPage": 3, "page": 2})
    same([ids(found), found["totalHits"], found["totalPages"]], [[4], 4, 2])


def highlight():
    found = index.search("sola", {"attributesToHighlight": ["title"]})
    same(found["hits"][0]["_formatted"]["title"], "<em>Sola</em>ris")


def facet_search():
    same(index.facet_search("genre", "hor")["facetHits"], [{"value": "horror", "count": 2}])


def multi_search():
    queries = [{"indexUid": "films", "q": "alien"}, {"indexUid": "films", "q": "stalker"}]
    same([ids(result) for result in client.multi_search(queries)["results"]], [[2], [3]])


def federated():
    queries = [
        {"indexUid": "films", "q": "alien"},
        {"indexUid": "films", "q": "stalker", "federationOptions": {"weight": 2}},
    ]
    found = client.multi_search(queries, {"limit": 5})
    same(ids(found), [3, 2])
    same(found["hits"][0]["_federation"]["queriesPosition"], 1)


def hybrid():
    asked = {"vector": [1, 0], "hybrid": {"embedder": "plain", "semanticRatio": 1}, "limit": 2}
    same(ids(index.search("", asked)), [1, 3])


def similar():
    same(ids(index.get_similar_documents({"id": 2, "embedder": "plain", "limit": 1})), [4])


def get_document():
    same(index.get_document(2).title, "Alien")
    page = index.get_documents({"filter": "genre = drama", "fields": ["id"]})
    same([page.total, [document.id for document in page.results]], [2, [1, 3]])


def update_document():
    done(index.update_documents([{"id": 2, "year": 1980}]))
    document = index.get_document(2)
    same([document.title, document.year], ["Alien", 1980])


def delete_document():
    done(index.delete_document(3))
    done(index.delete_documents(filter="year = 1980"))
    same(ids(index.search("")), [1, 4])


def stats():
    same(index.get_stats().number_of_documents, 2)
    same(client.get_all_stats()["indexes"]["films"]["numberOfDocuments"], 2)


def listed_keys():
    return [key.uid for key in client.get_keys().results]


def keys():
    # The SDK cannot parse an expiry without a fraction, and the API returns the expiry unchanged.
    expires = (datetime.now(timezone.utc) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.25Z")
    key = client.create_key(
        {"name": "for a moment", "actions": ["search"], "indexes": ["films"], "expiresAt": expires}
    )
    same(key.uid in listed_keys(), True)
    same(client.get_key(key.uid).actions, ["search"])
    client.delete_key(key.uid)
    same(key.uid in listed_keys(), False)


def tenant_token():
    key = client.create_key({"actions": ["search"], "indexes": ["films"], "expiresAt": None})
    token = client.generate_tenant_token(
        key.uid,
        {"films": {"filter": "genre = drama"}},
        api_key=key.key,
        expires_at=datetime.now(timezone.utc) + timedelta(hours=1),
    )
    same(ids(meilisearch.Client(URL, token).index("films").search("")), [1])


def error():
    missing = refusal(lambda: client.get_index("ghost"))
    same([missing.code, missing.type, missing.status_code], ["index_not_found", "invalid_request", 404])
    same(refusal(lambda: meilisearch.Client(URL, "wrong").get_keys()).code, "invalid_api_key")


def failed_task():
    info = index.add_documents([{"title": "without an id"}])
    task = client.wait_for_task(info.task_uid, timeout_in_ms=30_000, interval_in_ms=20)
    same([task.status, task.error["code"]], ["failed", "missing_document_id"])


def tasks():
    listed = client.get_tasks({"types": ["documentDeletion"], "indexUids": ["films"]})
    same([len(listed.results), listed.total], [2, 2])
    same(client.get_task(listed.results[0].uid).status, "succeeded")


def batches():
    listed = client.get_batches({"types": ["settingsUpdate"]}).results
    same([len(listed), listed[0].stats["status"]], [1, {"succeeded": 1}])
    same(client.get_batch(listed[0].uid).details["sortableAttributes"], ["year"])


def cancel():
    task = done(client.cancel_tasks({"statuses": ["enqueued", "processing"]}))
    same([task.type, task.details["canceledTasks"]], ["taskCancelation", 0])


def swap_indexes():
    done(client.create_index("others"))
    done(client.swap_indexes([{"indexes": ["films", "others"]}]))
    same(ids(client.index("others").search("")), [1, 4])


def dump():
    same(type(done(client.create_dump()).details["dumpUid"]), str)


def delete_index():
    done(client.delete_index("films"))
    done(client.delete_index("others"))
    same(client.get_indexes()["total"], 0)


for step in [
    health,
    version,
    create_index,
    settings,
    add_documents,
    typo,
    filter_,
    facets,
    sort,
    pages,
    highlight,
    facet_search,
    multi_search,
    federated,
    hybrid,
    similar,
    get_document,
    update_document,
    delete_document,
    stats,
    keys,
    tenant_token,
    error,
    failed_task,
    tasks,
    batches,
    cancel,
    swap_indexes,
    dump,
    delete_index,
]:
    name = step.__name__.strip("_").replace("_", "-")
    try:
        step()
        print(f"passed {name}", flush=True)
    except Exception as failure:
        print(f"failed {name}: {failure!r}".replace("\n", " "), flush=True)
