// The condition of scenarios that a machine answers its operators in each state.

package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
)

// answerLimit is how long, in virtual time, an answer may take that needs no other machine.
const answerLimit = time.Second

// answers: /status, /metrics and /healthz of machines answer within answerLimit, and /status shows
// each text as what the machine waits for.
func (p *play) answers(args []string) error {
	texts := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, `"`) })
	if texts < 0 {
		texts = len(args)
	}
	for _, m := range p.list(args[:texts]) {
		answerer, err := p.api(m)
		if err != nil {
			return err
		}
		for _, path := range []string{"/status", "/metrics", "/healthz"} {
			began, got := time.Now(), httptest.NewRecorder()
			answerer.ServeHTTP(got, httptest.NewRequestWithContext(p.w.t.Context(), http.MethodGet, path, nil))
			if took := time.Since(began); got.Code != http.StatusOK || took > answerLimit {
				return fmt.Errorf("%s of %s answered %d in %s: %s", path, m.name, got.Code, took, got.Body)
			}
			if path != "/status" {
				continue
			}
			var s api.Status
			if err := json.Unmarshal(got.Body.Bytes(), &s); err != nil {
				return err
			}
			for _, text := range args[texts:] {
				if text = p.text(text); !strings.Contains(s.Waiting, text) {
					return fmt.Errorf("%s waits for %q, not for %q", m.name, s.Waiting, text)
				}
			}
		}
	}
	return nil
}
