// The steps of `../steps.ts` with the Go SDK.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/meilisearch/meilisearch-go"
)

type film struct {
	ID      int                  `json:"id"`
	Title   string               `json:"title,omitempty"`
	Genre   string               `json:"genre,omitempty"`
	Year    int                  `json:"year,omitempty"`
	Vectors map[string][]float64 `json:"_vectors,omitempty"`
}

var (
	url       = os.Getenv("CLIENTS_URL")
	masterKey = os.Getenv("CLIENTS_MASTER_KEY")
	client    = meilisearch.New(url, meilisearch.WithAPIKey(masterKey))
	index     = client.Index("films")
	ctx       = context.Background()
)

func step(name string, run func()) {
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Printf("failed %s: %s\n", name, strings.ReplaceAll(fmt.Sprint(failure), "\n", " "))
			return
		}
		fmt.Printf("passed %s\n", name)
	}()
	run()
}

// Returns the value of a call. Panics on an error, which ends the step.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func same(actual, expected any) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Sprintf("%v instead of %v", actual, expected))
	}
}

// Waits for a task, which must succeed.
func done(info *meilisearch.TaskInfo, err error) *meilisearch.Task {
	task := must(client.WaitForTask(ctx, must(info, err).TaskUID, 20*time.Millisecond))
	if task.Status != meilisearch.TaskStatusSucceeded {
		panic(fmt.Sprintf("%s: %v", task.Status, task.Error))
	}
	return task
}

func decoded[T any](raw []byte) T {
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		panic(err)
	}
	return value
}

func idsOf(hits meilisearch.Hits) []int {
	ids := []int{}
	for _, hit := range hits {
		ids = append(ids, decoded[int](hit["id"]))
	}
	return ids
}

func search(query string, request *meilisearch.SearchRequest) *meilisearch.SearchResponse {
	return must(index.Search(ctx, query, request))
}

func codeOf(err error) string {
	var failure *meilisearch.Error
	if !errors.As(err, &failure) {
		panic(fmt.Sprintf("%v is not an error of the SDK", err))
	}
	return string(failure.APIError.Code)
}

func lists(uid string) bool {
	for _, key := range must(client.GetKeys(ctx, nil)).Results {
		if key.UID == uid {
			return true
		}
	}
	return false
}

func main() {
	step("health", func() {
		same(must(client.Health(ctx)).Status, "available")
		same(client.IsHealthy(), true)
	})
	step("version", func() {
		same(strings.Count(must(client.Version(ctx)).PkgVersion, "."), 2)
	})
	step("create-index", func() {
		task := done(client.CreateIndex(ctx, &meilisearch.IndexConfig{Uid: "films", PrimaryKey: "id"}))
		same(task.Type, meilisearch.TaskTypeIndexCreation)
		same(must(client.GetIndex(ctx, "films")).PrimaryKey, "id")
	})
	step("settings", func() {
		done(index.UpdateSettings(ctx, &meilisearch.Settings{
			FilterableAttributes: []string{"genre", "year"},
			SortableAttributes:   []string{"year"},
			Synonyms:             map[string][]string{"movie": {"film"}},
			Embedders:            map[string]meilisearch.Embedder{"plain": {Source: "userProvided", Dimensions: 2}},
		}))
		settings := must(index.GetSettings(ctx))
		same(settings.FilterableAttributes, []string{"genre", "year"})
		same(settings.Synonyms, map[string][]string{"movie": {"film"}})
		same(settings.Embedders["plain"].Dimensions, 2)
	})
	step("add-documents", func() {
		films := []film{
			{1, "Solaris", "drama", 1972, map[string][]float64{"plain": {1, 0}}},
			{2, "Alien", "horror", 1979, map[string][]float64{"plain": {0, 1}}},
			{3, "Stalker", "drama", 1979, map[string][]float64{"plain": {0.9, 0.1}}},
			{4, "The Lighthouse", "horror", 2019, map[string][]float64{"plain": {0.1, 0.9}}},
		}
		details := done(index.AddDocuments(ctx, films, nil)).Details
		same([]int64{details.ReceivedDocuments, details.IndexedDocuments}, []int64{4, 4})
	})
	step("typo", func() {
		same(idsOf(search("lihgthouse", &meilisearch.SearchRequest{}).Hits), []int{4})
	})
	step("filter", func() {
		filter := []string{"genre = drama", "year > 1975"}
		same(idsOf(search("", &meilisearch.SearchRequest{Filter: filter}).Hits), []int{3})
	})
	step("facets", func() {
		found := search("", &meilisearch.SearchRequest{Facets: []string{"genre", "year"}})
		counts := decoded[map[string]map[string]int](found.FacetDistribution)
		same(counts["genre"], map[string]int{"drama": 2, "horror": 2})
		stats := decoded[map[string]map[string]float64](found.FacetStats)
		same(stats["year"], map[string]float64{"min": 1972, "max": 2019})
	})
	step("sort", func() {
		same(idsOf(search("", &meilisearch.SearchRequest{Sort: []string{"year:desc"}}).Hits), []int{4, 2, 3, 1})
	})
	step("pages", func() {
		perPage := int64(3)
		found := search("", &meilisearch.SearchRequest{HitsPerPage: &perPage, Page: 2})
		same(idsOf(found.Hits), []int{4})
		same([]int64{found.TotalHits, found.TotalPages}, []int64{4, 2})
	})
	step("highlight", func() {
		found := search("sola", &meilisearch.SearchRequest{AttributesToHighlight: []string{"title"}})
		same(decoded[map[string]string](found.Hits[0]["_formatted"])["title"], "<em>Sola</em>ris")
	})
	step("facet-search", func() {
		request := &meilisearch.FacetSearchRequest{FacetName: "genre", FacetQuery: "hor"}
		found := decoded[struct {
			FacetHits []struct {
				Value string
				Count int
			}
		}](*must(index.FacetSearch(ctx, request)))
		same(fmt.Sprint(found.FacetHits), "[{horror 2}]")
	})
	step("multi-search", func() {
		found := must(client.MultiSearch(ctx, &meilisearch.MultiSearchRequest{Queries: []*meilisearch.SearchRequest{
			{IndexUID: "films", Query: "alien"},
			{IndexUID: "films", Query: "stalker"},
		}}))
		same([][]int{idsOf(found.Results[0].Hits), idsOf(found.Results[1].Hits)}, [][]int{{2}, {3}})
	})
	step("federated", func() {
		found := must(client.MultiSearch(ctx, &meilisearch.MultiSearchRequest{
			Federation: &meilisearch.MultiSearchFederation{Limit: 5},
			Queries: []*meilisearch.SearchRequest{
				{IndexUID: "films", Query: "alien"},
				{
					IndexUID:          "films",
					Query:             "stalker",
					FederationOptions: &meilisearch.SearchFederationOptions{Weight: 2},
				},
			},
		}))
		same(idsOf(found.Hits), []int{3, 2})
		origin := decoded[struct{ QueriesPosition int }](found.Hits[0]["_federation"])
		same(origin.QueriesPosition, 1)
	})
	step("hybrid", func() {
		found := search("", &meilisearch.SearchRequest{
			Vector: []float32{1, 0},
			Hybrid: &meilisearch.SearchRequestHybrid{Embedder: "plain", SemanticRatio: 1},
			Limit:  2,
		})
		same(idsOf(found.Hits), []int{1, 3})
	})
	step("similar", func() {
		var found meilisearch.SimilarDocumentResult
		query := &meilisearch.SimilarDocumentQuery{Id: 2, Embedder: "plain", Limit: 1}
		must(true, index.SearchSimilarDocuments(ctx, query, &found))
		same(idsOf(found.Hits), []int{4})
	})
	step("get-document", func() {
		var alien film
		must(true, index.GetDocument(ctx, "2", nil, &alien))
		same(alien.Title, "Alien")
		var page meilisearch.DocumentsResult
		query := &meilisearch.DocumentsQuery{Filter: "genre = drama", Fields: []string{"id"}}
		must(true, index.GetDocuments(ctx, query, &page))
		same(idsOf(page.Results), []int{1, 3})
		same(page.Total, int64(2))
	})
	step("update-document", func() {
		done(index.UpdateDocuments(ctx, []film{{ID: 2, Year: 1980}}, nil))
		var alien film
		must(true, index.GetDocument(ctx, "2", nil, &alien))
		same([]any{alien.Title, alien.Year}, []any{"Alien", 1980})
	})
	step("delete-document", func() {
		done(index.DeleteDocument(ctx, "3", nil))
		done(index.DeleteDocumentsByFilter(ctx, "year = 1980", nil))
		same(idsOf(search("", &meilisearch.SearchRequest{}).Hits), []int{1, 4})
	})
	step("stats", func() {
		same(must(index.GetStats(ctx, nil)).NumberOfDocuments, int64(2))
		same(must(client.GetStats(ctx, nil)).Indexes["films"].NumberOfDocuments, int64(2))
	})
	step("keys", func() {
		key := must(client.CreateKey(ctx, &meilisearch.Key{
			Name:      "for a moment",
			Actions:   []string{"search"},
			Indexes:   []string{"films"},
			ExpiresAt: time.Now().Add(time.Hour).UTC(),
		}))
		same(lists(key.UID), true)
		same(must(client.GetKey(ctx, key.UID)).Actions, []string{"search"})
		must(client.DeleteKey(ctx, key.UID))
		same(lists(key.UID), false)
	})
	step("tenant-token", func() {
		key := must(client.CreateKey(ctx, &meilisearch.Key{Actions: []string{"search"}, Indexes: []string{"films"}}))
		rules := map[string]any{"films": map[string]string{"filter": "genre = drama"}}
		token := must(client.GenerateTenantToken(key.UID, rules, &meilisearch.TenantTokenOptions{
			APIKey:    key.Key,
			ExpiresAt: time.Now().Add(time.Hour).UTC(),
		}))
		tenant := meilisearch.New(url, meilisearch.WithAPIKey(token))
		found := must(tenant.Index("films").Search(ctx, "", &meilisearch.SearchRequest{}))
		same(idsOf(found.Hits), []int{1})
	})
	step("error", func() {
		_, missing := client.GetIndex(ctx, "ghost")
		same(codeOf(missing), "index_not_found")
		_, refused := meilisearch.New(url, meilisearch.WithAPIKey("wrong")).GetKeys(ctx, nil)
		same(codeOf(refused), "invalid_api_key")
	})
	step("failed-task", func() {
		info := must(index.AddDocuments(ctx, []map[string]string{{"title": "without an id"}}, nil))
		task := must(client.WaitForTask(ctx, info.TaskUID, 20*time.Millisecond))
		same(task.Status, meilisearch.TaskStatusFailed)
		same(string(task.Error.Code), "missing_document_id")
	})
	step("tasks", func() {
		listed := must(client.GetTasks(ctx, &meilisearch.TasksQuery{
			Types:     []meilisearch.TaskType{meilisearch.TaskTypeDocumentDeletion},
			IndexUIDS: []string{"films"},
		}))
		same([]int64{int64(len(listed.Results)), listed.Total}, []int64{2, 2})
		same(must(client.GetTask(ctx, listed.Results[0].UID)).Status, meilisearch.TaskStatusSucceeded)
	})
	step("batches", func() {
		listed := must(client.GetBatches(ctx, &meilisearch.BatchesQuery{Types: []string{"settingsUpdate"}})).Results
		same(len(listed), 1)
		same(listed[0].Stats.Status, map[string]int{"succeeded": 1})
		same(must(client.GetBatch(ctx, listed[0].UID)).Details["sortableAttributes"], []any{"year"})
	})
	step("cancel", func() {
		task := done(client.CancelTasks(ctx, &meilisearch.CancelTasksQuery{
			Statuses: []meilisearch.TaskStatus{meilisearch.TaskStatusEnqueued, meilisearch.TaskStatusProcessing},
		}))
		same(task.Type, meilisearch.TaskTypeTaskCancelation)
		same(task.Details.CanceledTasks, int64(0))
	})
	step("swap-indexes", func() {
		done(client.CreateIndex(ctx, &meilisearch.IndexConfig{Uid: "others"}))
		done(client.SwapIndexes(ctx, []*meilisearch.SwapIndexesParams{{Indexes: []string{"films", "others"}}}))
		found := must(client.Index("others").Search(ctx, "", &meilisearch.SearchRequest{}))
		same(idsOf(found.Hits), []int{1, 4})
	})
	step("dump", func() {
		same(done(client.CreateDump(ctx)).Details.DumpUid != "", true)
	})
	step("delete-index", func() {
		done(client.DeleteIndex(ctx, "films"))
		done(client.DeleteIndex(ctx, "others"))
		same(must(client.ListIndexes(ctx, nil)).Total, int64(0))
	})
}
