// Requests of scenarios to the HTTP endpoints of machines.

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
)

// api returns the endpoints of a machine that runs.
func (p *play) api(m *machine) (*server.API, error) {
	if api := p.apis[m.node]; api != nil {
		return api, nil
	}
	o := server.Options{Cluster: m.node}
	if m.graph != nil {
		o.Links = m.graph
	}
	api, err := server.New(m.node, o)
	if err == nil {
		p.apis[m.node] = api
	}
	return api, err
}

// serve lets endpoints answer a request, and reports whether the answer is broken off.
func serve(api *server.API, w http.ResponseWriter, r *http.Request) (broken bool) {
	defer func() {
		switch failed := recover(); failed {
		case nil:
		case http.ErrAbortHandler:
			broken = true
		default:
			panic(failed)
		}
	}()
	api.ServeHTTP(w, r)
	return false
}

// ask sends a request and returns the body of the answer, or the part of it before the answer is broken off. The
// error is store.ErrUnavailable then, and if the answer is a 503 with Retry-After.
func ask(ctx context.Context, api *server.API, method, path string, body []byte) (answer []byte, err error) {
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1"+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	got := httptest.NewRecorder()
	broken := serve(api, got, r)
	switch {
	case ctx.Err() != nil:
		return got.Body.Bytes(), context.Cause(ctx)
	case broken:
		return got.Body.Bytes(), fmt.Errorf("%w: the answer to %s is broken off", store.ErrUnavailable, path)
	case got.Code == http.StatusServiceUnavailable && got.Header().Get("Retry-After") != "":
		return nil, fmt.Errorf("%w: %s", store.ErrUnavailable, got.Body)
	case got.Code != http.StatusOK:
		return nil, fmt.Errorf("%s answered %d: %s", path, got.Code, got.Body)
	}
	return got.Body.Bytes(), nil
}
