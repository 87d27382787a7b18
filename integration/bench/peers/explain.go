// Plans of the queries that lose most.

package peers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// explained is the number of queries whose plans are written.
const explained = 10

// explainWorst writes, for the queries with the largest ratios, the text and the plan as run to a
// file each.
func (b *bench) explainWorst(ctx context.Context, all []data, verdicts []verdict) error {
	if err := os.MkdirAll(b.explain, 0o755); err != nil {
		return err
	}
	for _, d := range all {
		// 1. Serve the data.
		s := b.systems()[0]
		dir, err := b.stored(ctx, s, d.file)
		if err != nil {
			return err
		}
		running, err := b.start(ctx, s, dir, 1)
		if err != nil {
			return err
		}
		// 2. Request the plans of those queries that are of this data.
		for rank, v := range worst(verdicts, explained) {
			for _, suite := range d.suites {
				for _, q := range suite.queries {
					if b.key(d, suite, q) != v.key || v.ratio == 0 {
						continue
					}
					plan, err := b.plan(ctx, running.endpoint, q)
					if err != nil {
						plan = err.Error()
					}
					text := fmt.Sprintf("%s: %.2f times the time of %s; %d rows; medians %v\n\n%s\n\n%s\n", v.key, v.ratio, v.best, v.rows, v.medians, q.text, plan)
					name := fmt.Sprintf("%02d-%s.txt", rank+1, strings.ReplaceAll(v.key, "/", "-"))
					if err := os.WriteFile(filepath.Join(b.explain, name), []byte(text), 0o644); err != nil {
						running.Kill()
						return err
					}
				}
			}
		}
		running.Kill()
	}
	return nil
}

// plan returns the plan of a query with what its operators did.
func (b *bench) plan(ctx context.Context, e *endpoint, q query) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, b.deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.query(q.text)+"&explain=run&format=text", nil)
	if err != nil {
		return "", err
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
