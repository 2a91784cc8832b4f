// The steps of `../steps.ts` with the Java SDK.

import com.meilisearch.sdk.Client;
import com.meilisearch.sdk.Config;
import com.meilisearch.sdk.FacetSearchRequest;
import com.meilisearch.sdk.FederationOptions;
import com.meilisearch.sdk.Index;
import com.meilisearch.sdk.IndexSearchRequest;
import com.meilisearch.sdk.MultiSearchFederation;
import com.meilisearch.sdk.MultiSearchRequest;
import com.meilisearch.sdk.SearchRequest;
import com.meilisearch.sdk.SimilarDocumentRequest;
import com.meilisearch.sdk.TenantTokenOptions;
import com.meilisearch.sdk.exceptions.MeilisearchApiException;
import com.meilisearch.sdk.model.CancelTasksQuery;
import com.meilisearch.sdk.model.DocumentsQuery;
import com.meilisearch.sdk.model.Embedder;
import com.meilisearch.sdk.model.EmbedderSource;
import com.meilisearch.sdk.model.Hybrid;
import com.meilisearch.sdk.model.Key;
import com.meilisearch.sdk.model.SearchResult;
import com.meilisearch.sdk.model.SearchResultPaginated;
import com.meilisearch.sdk.model.Settings;
import com.meilisearch.sdk.model.SwapIndexesParams;
import com.meilisearch.sdk.model.Task;
import com.meilisearch.sdk.model.TaskInfo;
import com.meilisearch.sdk.model.TaskStatus;
import com.meilisearch.sdk.model.TasksQuery;
import com.meilisearch.sdk.model.TasksResults;
import com.meilisearch.sdk.model.batch.req.BatchesQuery;
import com.meilisearch.sdk.model.batch.res.Batch;
import java.util.Arrays;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

class Steps {
  static final String URL = System.getenv("CLIENTS_URL");
  static final Client client = new Client(new Config(URL, System.getenv("CLIENTS_MASTER_KEY")));
  static final Date IN_AN_HOUR = new Date(System.currentTimeMillis() + 3_600_000);

  interface Run {
    void run() throws Exception;
  }

  static void step(String name, Run run) {
    try {
      run.run();
      System.out.println("passed " + name);
    } catch (Throwable failure) {
      System.out.println("failed " + name + ": " + failure.toString().replace('\n', ' '));
    }
  }

  static void same(Object actual, Object expected) {
    if (!Objects.equals(actual, expected)) throw new AssertionError(actual + " instead of " + expected);
  }

  /** Waits for a task, which must succeed. */
  static Task done(TaskInfo info) throws Exception {
    client.index("films").waitForTask(info.getTaskUid(), 30_000, 20);
    Task task = client.getTask(info.getTaskUid());
    same(task.getStatus(), TaskStatus.SUCCEEDED);
    return task;
  }

  static List<Integer> ids(List<HashMap<String, Object>> hits) {
    return hits.stream().map(hit -> ((Number) hit.get("id")).intValue()).collect(Collectors.toList());
  }

  static List<Integer> found(SearchRequest request) throws Exception {
    return ids(client.index("films").search(request).getHits());
  }

  static String code(Run run) throws Exception {
    try {
      run.run();
    } catch (MeilisearchApiException refusal) {
      return refusal.getCode();
    }
    throw new AssertionError("nothing was thrown");
  }

  static boolean lists(String uid) throws Exception {
    return Arrays.stream(client.getKeys().getResults()).anyMatch(key -> key.getUid().equals(uid));
  }

  static Key searchKey() {
    return new Key().setActions(new String[] {"search"}).setIndexes(new String[] {"films"});
  }

  static IndexSearchRequest query(String q) {
    return IndexSearchRequest.builder().indexUid("films").q(q).build();
  }

  static class Film {
    int id;
    String title;
    String genre;
    int year;
  }

  public static void main(String[] arguments) throws Exception {
    Index index = client.index("films");

    step("health", () -> {
      same(client.health().contains("available"), true);
      same(client.isHealthy(), true);
    });
    step("version", () -> same(client.getVersion().contains("pkgVersion"), true));
    step("create-index", () -> {
      same(done(client.createIndex("films", "id")).getType(), "indexCreation");
      same(client.getIndex("films").getPrimaryKey(), "id");
    });
    step("settings", () -> {
      HashMap<String, Embedder> embedders = new HashMap<>();
      embedders.put("plain", Embedder.builder().source(EmbedderSource.USER_PROVIDED).dimensions(2).build());
      HashMap<String, String[]> synonyms = new HashMap<>();
      synonyms.put("movie", new String[] {"film"});
      done(index.updateSettings(new Settings()
          .setFilterableAttributes(new String[] {"genre", "year"})
          .setSortableAttributes(new String[] {"year"})
          .setSynonyms(synonyms)
          .setEmbedders(embedders)));
      Settings read = index.getSettings();
      same(Arrays.asList(read.getFilterableAttributes()), List.of("genre", "year"));
      same(Arrays.asList(read.getSynonyms().get("movie")), List.of("film"));
      same(read.getEmbedders().get("plain").getDimensions(), 2);
    });
    step("add-documents", () -> {
      Task task = done(index.addDocuments("["
          + "{\"id\":1,\"title\":\"Solaris\",\"genre\":\"drama\",\"year\":1972,\"_vectors\":{\"plain\":[1,0]}},"
          + "{\"id\":2,\"title\":\"Alien\",\"genre\":\"horror\",\"year\":1979,\"_vectors\":{\"plain\":[0,1]}},"
          + "{\"id\":3,\"title\":\"Stalker\",\"genre\":\"drama\",\"year\":1979,\"_vectors\":{\"plain\":[0.9,0.1]}},"
          + "{\"id\":4,\"title\":\"The Lighthouse\",\"genre\":\"horror\",\"year\":2019,\"_vectors\":{\"plain\":[0.1,0.9]}}"
          + "]"));
      same(task.getDetails().getReceivedDocuments(), 4);
      same(task.getDetails().getIndexedDocuments(), 4);
    });
    step("typo", () -> same(found(SearchRequest.builder().q("lihgthouse").build()), List.of(4)));
    step("filter", () -> {
      String[] filter = {"genre = drama", "year > 1975"};
      same(found(SearchRequest.builder().q("").filter(filter).build()), List.of(3));
    });
    step("facets", () -> {
      SearchRequest request = SearchRequest.builder().q("").facets(new String[] {"genre", "year"}).build();
      SearchResult result = (SearchResult) index.search(request);
      Object genre = ((Map<?, ?>) result.getFacetDistribution()).get("genre");
      same(genre, Map.of("drama", 2.0, "horror", 2.0));
      same(result.getFacetStats().get("year").getMin(), 1972.0);
      same(result.getFacetStats().get("year").getMax(), 2019.0);
    });
    step("sort", () -> {
      SearchRequest request = SearchRequest.builder().q("").sort(new String[] {"year:desc"}).build();
      same(found(request), List.of(4, 2, 3, 1));
    });
    step("pages", () -> {
      SearchRequest request = SearchRequest.builder().q("").hitsPerPage(3).page(2).build();
      SearchResultPaginated result = (SearchResultPaginated) index.search(request);
      same(ids(result.getHits()), List.of(4));
      same(List.of(result.getTotalHits(), result.getTotalPages()), List.of(4, 2));
    });
    step("highlight", () -> {
      String[] attributes = {"title"};
      SearchRequest request = SearchRequest.builder().q("sola").attributesToHighlight(attributes).build();
      Object formatted = index.search(request).getHits().get(0).get("_formatted");
      same(((Map<?, ?>) formatted).get("title"), "<em>Sola</em>ris");
    });
    step("facet-search", () -> {
      FacetSearchRequest request = FacetSearchRequest.builder().facetName("genre").facetQuery("hor").build();
      List<HashMap<String, Object>> hits = index.facetSearch(request).getFacetHits();
      same(hits, List.of(Map.of("value", "horror", "count", 2.0)));
    });
    step("multi-search", () -> {
      MultiSearchRequest request = new MultiSearchRequest().addQuery(query("alien")).addQuery(query("stalker"));
      List<List<Integer>> results = Arrays.stream(client.multiSearch(request).getResults())
          .map(result -> ids(result.getHits()))
          .collect(Collectors.toList());
      same(results, List.of(List.of(2), List.of(3)));
    });
    step("federated", () -> {
      IndexSearchRequest weighty = IndexSearchRequest.builder()
          .indexUid("films").q("stalker").federationOptions(new FederationOptions().setWeight(2.0)).build();
      MultiSearchRequest request = new MultiSearchRequest().addQuery(query("alien")).addQuery(weighty);
      List<HashMap<String, Object>> hits =
          client.multiSearch(request, new MultiSearchFederation().setLimit(5)).getHits();
      same(ids(hits), List.of(3, 2));
      same(((Map<?, ?>) hits.get(0).get("_federation")).get("queriesPosition"), 1.0);
    });
    step("hybrid", () -> {
      Hybrid hybrid = Hybrid.builder().embedder("plain").semanticRatio(1.0).build();
      Double[] vector = {1.0, 0.0};
      same(found(SearchRequest.builder().q("").vector(vector).hybrid(hybrid).limit(2).build()), List.of(1, 3));
    });
    step("similar", () -> {
      SimilarDocumentRequest request = SimilarDocumentRequest.builder().id("2").embedder("plain").limit(1).build();
      same(ids(index.searchSimilarDocuments(request).getHits()), List.of(4));
    });
    step("get-document", () -> {
      same(index.getDocument("2", Film.class).title, "Alien");
      DocumentsQuery query =
          new DocumentsQuery().setFilter(new String[] {"genre = drama"}).setFields(new String[] {"id"});
      same(Arrays.stream(index.getDocuments(query, Film.class).getResults())
          .map(film -> film.id)
          .collect(Collectors.toList()), List.of(1, 3));
    });
    step("update-document", () -> {
      done(index.updateDocuments("[{\"id\":2,\"year\":1980}]"));
      Film alien = index.getDocument("2", Film.class);
      same(List.of(alien.title, alien.year), List.of("Alien", 1980));
    });
    step("delete-document", () -> {
      done(index.deleteDocument("3"));
      done(index.deleteDocumentsByFilter("year = 1980"));
      same(found(SearchRequest.builder().q("").build()), List.of(1, 4));
    });
    step("stats", () -> {
      same(index.getStats().getNumberOfDocuments(), 2L);
      same(client.getStats().getIndexes().get("films").getNumberOfDocuments(), 2L);
    });
    step("keys", () -> {
      Key key = client.createKey(searchKey().setName("for a moment").setExpiresAt(IN_AN_HOUR));
      same(lists(key.getUid()), true);
      same(Arrays.asList(client.getKey(key.getUid()).getActions()), List.of("search"));
      client.deleteKey(key.getUid());
      same(lists(key.getUid()), false);
    });
    step("tenant-token", () -> {
      Key key = client.createKey(searchKey());
      Map<String, Object> rules = Map.of("films", Map.of("filter", "genre = drama"));
      TenantTokenOptions options = new TenantTokenOptions().setApiKey(key.getKey()).setExpiresAt(IN_AN_HOUR);
      String token = client.generateTenantToken(key.getUid(), rules, options);
      same(ids(new Client(new Config(URL, token)).index("films").search("").getHits()), List.of(1));
    });
    step("error", () -> {
      same(code(() -> client.getIndex("ghost")), "index_not_found");
      same(code(() -> new Client(new Config(URL, "wrong")).getKeys()), "invalid_api_key");
    });
    step("failed-task", () -> {
      TaskInfo info = index.addDocuments("[{\"title\":\"without an id\"}]");
      index.waitForTask(info.getTaskUid(), 30_000, 20);
      Task task = client.getTask(info.getTaskUid());
      same(task.getStatus(), TaskStatus.FAILED);
      same(task.getError().getCode(), "missing_document_id");
    });
    step("tasks", () -> {
      TasksQuery query = new TasksQuery()
          .setTypes(new String[] {"documentDeletion"}).setIndexUids(new String[] {"films"});
      TasksResults listed = client.getTasks(query);
      same(List.of(listed.getResults().length, listed.getTotal()), List.of(2, 2));
      same(client.getTask(listed.getResults()[0].getUid()).getStatus(), TaskStatus.SUCCEEDED);
    });
    step("batches", () -> {
      BatchesQuery query = new BatchesQuery().setTypes(new String[] {"settingsUpdate"});
      List<Batch> listed = client.getAllBatches(query).getResults();
      same(listed.size(), 1);
      same(listed.get(0).getStats().getStatus(), Map.of(TaskStatus.SUCCEEDED, 1));
      String[] sortable = client.getBatch(listed.get(0).getUid()).getDetails().getSortableAttributes();
      same(Arrays.asList(sortable), List.of("year"));
    });
    step("cancel", () -> {
      CancelTasksQuery query = new CancelTasksQuery().setStatuses(new String[] {"enqueued", "processing"});
      Task task = done(client.cancelTasks(query));
      same(List.of(task.getType(), task.getDetails().getCanceledTasks()), List.of("taskCancelation", 0));
    });
    step("swap-indexes", () -> {
      done(client.createIndex("others"));
      String[] pair = {"films", "others"};
      done(client.swapIndexes(new SwapIndexesParams[] {new SwapIndexesParams().setIndexes(pair)}));
      same(ids(client.index("others").search("").getHits()), List.of(1, 4));
    });
    step("dump", () -> same(done(client.createDump()).getDetails().getDumpUid() != null, true));
    step("delete-index", () -> {
      done(client.deleteIndex("films"));
      done(client.deleteIndex("others"));
      same(client.getIndexes().getTotal(), 0);
    });
  }
}
