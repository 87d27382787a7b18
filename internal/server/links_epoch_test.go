// Epochs of a graph of links on several machines.

package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	linksapi "github.com/trefoildb/trefoil/internal/server/links"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

// spreadWeb is a graph as that of a cluster: its epoch has to be asked for, and is another
// one after some read.
type spreadWeb struct {
	boundedWeb
	mu     sync.Mutex
	epoch  uint64
	asked  int   // for the epoch
	reads  int   // of anything else
	change int   // the epoch is another one after this read; 0 is none
	fail   error // of who is asked for the epoch
}

func (g *spreadWeb) Capabilities() links.Capabilities {
	return links.Capabilities{RemoteEpoch: g, Prefix: g}
}

func (g *spreadWeb) CurrentEpoch(context.Context, uint64) (uint64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	return g.epoch, g.fail
}

// read counts a read that has been done.
func (g *spreadWeb) read() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reads++; g.reads == g.change {
		g.epoch++
	}
}

func (g *spreadWeb) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	defer g.read()
	return g.boundedWeb.UIDs(ctx, urls)
}

func (g *spreadWeb) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	defer g.read()
	return g.boundedWeb.URLs(ctx, pages)
}

func (g *spreadWeb) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	defer g.read()
	return g.boundedWeb.Links(ctx, d, pages)
}

func (g *spreadWeb) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error) {
	defer g.read()
	return g.boundedWeb.LinksPrefix(ctx, d, pages, most)
}

func (g *spreadWeb) Labels(ctx context.Context, d links.Direction, pages []uid.UID) (rank.Lists[links.Label], error) {
	defer g.read()
	return g.boundedWeb.Labels(ctx, d, pages)
}

func (g *spreadWeb) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (links.Lists, error) {
	defer g.read()
	return g.boundedWeb.SampleLinks(ctx, d, pages, s)
}

func (g *spreadWeb) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	defer g.read()
	return g.boundedWeb.Degrees(ctx, d, pages)
}

func (g *spreadWeb) Pages(ctx context.Context, after uid.UID, n int) ([]uid.UID, error) {
	defer g.read()
	return g.boundedWeb.Pages(ctx, after, n)
}

func (g *spreadWeb) Rank(ctx context.Context, r links.RankRequest) (links.Ranking, error) {
	defer g.read()
	return g.boundedWeb.Rank(ctx, r)
}

// begin has the graph be of an epoch, and forget what it was asked.
func (g *spreadWeb) begin(change int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.epoch, g.asked, g.reads, g.change = links.MinClusterEpoch+5, 0, 0, change
}

// TestLinksSpreadEpoch: an answer of an epoch is that without one, and costs one question
// for the epoch; whenever the graph changes after a read that is part of it, there is none.
func TestLinksSpreadEpoch(t *testing.T) {
	plain, urls := aWeb(t, seeded(t), 9)
	g := &spreadWeb{boundedWeb: boundedWeb{Graph: plain}}
	s := serveLinks(t, g, Options{})
	uids := must(plain.UIDs(t.Context(), urls))
	const epoch = links.MinClusterEpoch + 5
	at := func(target string, epoch any) string {
		if strings.Contains(target, "?") {
			return fmt.Sprint(target, "&epoch=", epoch)
		}
		return fmt.Sprint(target, "?epoch=", epoch)
	}
	for _, most := range []int{7, 1 << 18} {
		s.setPieces(most)
		for _, q := range []struct {
			method, target, body string
			costs                int // questions for the epoch, of an answer in one piece
			binary               bool
		}{
			{"POST", "/links/uids", `{"urls":` + quoted(urls) + `}`, 1, false},
			{"POST", "/links/urls", `{"uids":` + quoted(texts(uids)) + `}`, 1, false},
			{"POST", "/links/get", `{"uids":` + quoted(texts(uids)) + `}`, 1, false},
			{"POST", "/links/get", `{"uids":` + quoted(texts(uids)) + `}`, 1, true},
			{"POST", "/links/get", `{"urls":` + quoted(urls) + `,"direction":"backward"}`, 1, false},
			{"POST", "/links/get", `{"urls":` + quoted(urls) + `,"as":"urls"}`, 2, false},
			{"POST", "/links/get", `{"urls":` + quoted(urls) + `,"labels":true}`, 2, false},
			{"POST", "/links/get", `{"urls":` + quoted(urls) + `,"labels":true}`, 2, true},
			{"POST", "/links/sample", `{"urls":` + quoted(urls) + `,"n":3,"mode":"consistent"}`, 1, false},
			{"POST", "/links/sample", `{"urls":` + quoted(urls) + `,"n":300,"mode":"consistent"}`, 2, false},
			{"POST", "/links/degrees", `{"urls":` + quoted(urls) + `}`, 1, false},
			{"POST", "/links/rank", `{"urls":` + quoted(urls[:5]) + `,"as":"uids"}`, 2, false},
			{"POST", "/links/rank", `{"urls":` + quoted(urls[:5]) + `}`, 4, false},
			{"GET", "/links/pages?limit=30", "", 1, false},
		} {
			var headers []string
			if q.binary {
				headers = []string{"Accept", wire.MediaType}
			}
			g.begin(0)
			want := s.do(q.method, q.target, q.body, headers...)
			if want.status != 200 || want.header.Get(linksapi.EpochHeader) != "" || g.asked != 0 {
				t.Fatalf("%s: %d %.200s; epoch %q, asked for %d times", q.target, want.status, want.body, want.header.Get(linksapi.EpochHeader), g.asked)
			}
			reads := g.reads
			for _, which := range []string{strconv.Itoa(epoch), "now"} {
				g.begin(0)
				got := s.do(q.method, at(q.target, which), q.body, headers...)
				if got.status != 200 || got.body != want.body || got.header.Get(linksapi.EpochHeader) != strconv.Itoa(epoch) {
					t.Fatalf("%s at %s: %d %v %.200s\nwant %.200s", q.target, which, got.status, got.header, got.body, want.body)
				}
				costs := q.costs
				if which == "now" && !strings.HasSuffix(q.target, "/rank") {
					costs++
				}
				if most > 7 && g.asked != costs {
					t.Errorf("%s %.20s at %s: %d questions for the epoch, want %d", q.target, q.body, which, g.asked, costs)
				}
				for after := 1; after <= reads; after++ {
					g.begin(after)
					got := s.do(q.method, at(q.target, which), q.body, headers...)
					if got.status == 200 && got.err == nil {
						t.Errorf("%s %.20s at %s, which changes after read %d of %d: %.200s", q.target, q.body, which, after, reads, got.body)
					}
					if got.err == nil {
						got.wantError(t, http.StatusConflict, problem.KindEpoch, "epoch", fmt.Sprintf("at epoch %d, not %d", epoch+1, epoch))
					}
				}
			}
			g.begin(0)
			got := s.do(q.method, at(q.target, epoch-1), q.body, headers...)
			got.wantError(t, http.StatusConflict, problem.KindEpoch, "epoch", fmt.Sprintf("at epoch %d, not %d", epoch, epoch-1))
		}
	}
}

// Where it is clear before a read that there will be no answer, there is none; and who
// cannot tell the epoch says so.
func TestLinksSpreadEpochEarly(t *testing.T) {
	plain, urls := aWeb(t, seeded(t), 10)
	g := &spreadWeb{boundedWeb: boundedWeb{Graph: plain}}
	s := serveLinks(t, g, Options{})
	many := make([]string, linksapi.EarlyPages)
	for i := range many {
		many[i] = urls[i%len(urls)]
	}
	for _, q := range []struct{ target, body string }{
		{"/links/uids?epoch=4503599627370500", `{"urls":[]}`},
		{"/links/get?epoch=4503599627370500", `{"urls":` + quoted(many) + `}`},
		{"/links/rank?epoch=4503599627370500", `{"urls":` + quoted(urls) + `}`},
		{"/links/get?epoch=5", `{"urls":` + quoted(urls) + `}`}, // of a node alone: it may be a guess
		{"/links/get?epoch=0", `{"urls":` + quoted(urls) + `}`},
	} {
		g.begin(0)
		s.do("POST", q.target, q.body).wantError(t, http.StatusConflict, problem.KindEpoch, "epoch", "at epoch 4503599627370501, not")
		if g.reads != 0 {
			t.Errorf("%s: %d reads", q.target, g.reads)
		}
	}
	g.begin(0)
	for _, which := range []string{"now", "4503599627370501"} {
		g.begin(0)
		if got := s.do("POST", "/links/uids?epoch="+which, `{"urls":[]}`); got.status != 200 || got.header.Get(linksapi.EpochHeader) != "4503599627370501" || g.asked != 1 {
			t.Errorf("the epoch alone, %s: %d %v %s; %d questions for it", which, got.status, got.header, got.body, g.asked)
		}
	}
	s.do("POST", "/links/uids?epoch=later", `{"urls":[]}`).wantError(t, http.StatusBadRequest, problem.KindBadParameter, "epoch", "not now")
	g.epoch = 0
	for _, which := range []string{"now", "0", "4503599627370501"} {
		s.do("POST", "/links/uids?epoch="+which, `{"urls":[]}`).wantError(t, http.StatusConflict, problem.KindEpoch, "epoch", "none")
	}
	g.fail = fmt.Errorf("machine 7: %w", store.ErrUnavailable)
	for _, which := range []string{"now", "4503599627370501"} {
		got := s.do("POST", "/links/get?epoch="+which, `{"urls":`+quoted(urls)+`}`)
		got.wantError(t, http.StatusServiceUnavailable, problem.KindUnavailable, "", "machine 7")
		if got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %v", which, got.header)
		}
	}
	if got := s.do("POST", "/links/get", `{"urls":`+quoted(urls)+`}`); got.status != 200 {
		t.Errorf("without an epoch: %d %s", got.status, got.body)
	}
}
