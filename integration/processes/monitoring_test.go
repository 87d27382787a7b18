// Tests of the files for Prometheus and Grafana.

package processes

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestMonitoring: a member of a cluster has every metric that the alert rules, the dashboard and the
// operations manual name.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.form()
	h := &history{}
	c.fill(h, 10)
	m := c.machines[0]
	for _, path := range []string{"/sparql?query=ASK%7B%7D", "/healthz"} {
		if status, _ := fetch(t, m.url()+path); status != http.StatusOK {
			t.Fatalf("%s: status %d", path, status)
		}
	}
	// 1. What the member has. Some metrics are there after the first request.
	_, text := fetch(t, m.url()+"/metrics")
	has := map[string]bool{}
	for _, name := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(text, -1) {
		has[name[1]] = true
	}
	// 2. What the files name; a name that ends with _ begins some. Functions have metrics only if there are functions,
	// and a text index counts literals only if it has some (TestText of internal/server).
	folder := filepath.Join("..", "..", "docs")
	names := regexp.MustCompile(`\btrefoil_[a-z]+_[a-z_]+`)
	paths := []string{filepath.Join(folder, "monitoring", "alerts.yaml"), filepath.Join(folder, "monitoring", "dashboard.json")}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		pages, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(pages) == 0 {
			t.Fatal(pattern, pages, err)
		}
		paths = append(paths, pages...)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if strings.HasSuffix(path, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", path)
		}
		for _, name := range names.FindAllString(string(text), -1) {
			known := has[strings.TrimSuffix(name, "_bucket")] || strings.HasPrefix(name, "trefoil_function_") || name == "trefoil_text_documents"
			for of := range has {
				known = known || strings.HasSuffix(name, "_") && strings.HasPrefix(of, name)
			}
			if !known {
				t.Errorf("%s names %s, which no member has", path, name)
			}
		}
	}
}

// TestAlertsCaused: each shipped alert is made to fire by a test.
func TestAlertsCaused(t *testing.T) {
	root := filepath.Join("..", "..")
	rules, err := os.ReadFile(filepath.Join(root, "docs", "monitoring", "alerts.yaml"))
	require.NoError(t, err)
	var tests strings.Builder
	for _, path := range []string{"integration/cluster", "internal/server", "node"} {
		text, err := os.ReadFile(filepath.Join(root, path, "alerts_test.go"))
		require.NoError(t, err)
		tests.Write(text)
	}
	names := regexp.MustCompile(`(?m)^      - alert: (\w+)$`).FindAllStringSubmatch(string(rules), -1)
	if len(names) < 10 {
		t.Fatalf("%d alerts", len(names))
	}
	for _, name := range names {
		if !strings.Contains(tests.String(), `"`+name[1]+`"`) {
			t.Errorf("no test causes %s", name[1])
		}
	}
}

// fetch returns the status and the body of an answer.
func fetch(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}
