// The graph of links over a network.

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

var seeded = seed.Rand

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// someChanges returns changes of all kinds among some pages.
func someChanges(r *rand.Rand, n, pages int) []links.Change {
	url := func() string {
		i := r.IntN(pages)
		return fmt.Sprintf("http://www%d.example%d.org/%d/ü", i%3, i%7, i)
	}
	all := make([]links.Change, n)
	for i := range all {
		all[i] = links.Change{Kind: links.ChangeKind(r.IntN(3)), Source: url()}
		for range r.IntN(15) {
			all[i].Targets = append(all[i].Targets, url())
		}
		if all[i].Kind != links.DeleteLinks && r.IntN(2) == 0 {
			for range all[i].Targets {
				all[i].Labels = append(all[i].Labels, links.Label{Weight: r.NormFloat64(), Anchor: strings.Repeat("<é\"\n", r.IntN(3))})
			}
		}
	}
	return all
}

// startLinks serves a graph; the client goes over a network that may fail.
func startLinks(t testing.TB, g links.Graph, options client.Options, decide func(n int, r *http.Request) fate) (*client.Links, *network) {
	t.Helper()
	url, _ := startNode(t, server.Options{Links: g})
	w := newNetwork(t, decide)
	options.HTTPClient = &http.Client{Transport: w}
	return newClient(t, url, options).Links, w
}

func fine(int, *http.Request) fate { return fate{} }

// compareGraphs compares all answers of two graphs.
func compareGraphs(t *testing.T, got, want links.Graph, spec sample.Spec) {
	t.Helper()
	ctx := t.Context()
	pages := append(must(want.Pages(ctx, 0, math.MaxInt32)), 0, 12345, uid.Make(5, 6, 7))
	same := func(what string, a, b any) {
		t.Helper()
		if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
			t.Fatalf("%s: %.1000s\nwant %.1000s", what, x, y)
		}
	}
	sameLists := func(what string, a, b links.Lists) {
		t.Helper()
		if !slices.Equal(a.Ends, b.Ends) || !slices.Equal(a.Items, b.Items) {
			t.Fatalf("%s differ", what)
		}
	}
	urls := must(want.URLs(ctx, pages))
	same("URLs", must(got.URLs(ctx, pages)), urls)
	same("UIDs", must(got.UIDs(ctx, append(urls, "http://unknown/"))), must(want.UIDs(ctx, append(urls, "http://unknown/"))))
	same("pages", must(got.Pages(ctx, pages[3], 50)), must(want.Pages(ctx, pages[3], 50)))
	same("stats", must(got.Stats(ctx)), must(want.Stats(ctx)))
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		sameLists("links", must(got.Links(ctx, d, pages)), must(want.Links(ctx, d, pages)))
		sameLists("samples", must(got.SampleLinks(ctx, d, pages, spec)), must(want.SampleLinks(ctx, d, pages, spec)))
		same("labels", must(got.Labels(ctx, d, pages)), must(want.Labels(ctx, d, pages)))
		same("degrees", must(got.Degrees(ctx, d, pages)), must(want.Degrees(ctx, d, pages)))
	}
	r := links.RankRequest{Algorithm: links.SALSA, Pages: pages[:40], In: 3, Out: 4, Mode: spec.Mode, Class: spec.Class, Seed: spec.Seed, Top: 20, All: true}
	same("SALSA", must(got.Rank(ctx, r)), must(want.Rank(ctx, r)))
	r.Algorithm = links.HITS
	same("HITS", must(got.Rank(ctx, r)), must(want.Rank(ctx, r)))
}

// TestLinks makes the same changes on a graph behind a node and on a plain one.
func TestLinks(t *testing.T) {
	r := seeded(t)
	plain, served := linkstest.New(), linkstest.New()
	l, _ := startLinks(t, served, client.Options{}, fine)
	for round := range 6 {
		changes := someChanges(r, 200, 300)
		got, want := must(l.Update(t.Context(), changes)), must(plain.Update(t.Context(), changes))
		if got != want {
			t.Fatalf("round %d: %+v, want %+v", round, got, want)
		}
		compareGraphs(t, l, plain, sample.Spec{N: r.IntN(6), Mode: sample.Mode(round % 2), Class: sample.Class(round % 3), Seed: r.Uint64()})
	}
	var all []uid.UID
	for u, err := range l.AllPages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	if !slices.Equal(all, must(plain.Pages(t.Context(), 0, math.MaxInt32))) {
		t.Error("all pages differ")
	}
	lists, labels := must2(l.LabelledLinks(t.Context(), links.Backward, all))
	if !slices.Equal(lists.Items, must(plain.Links(t.Context(), links.Backward, all)).Items) || !slices.Equal(labels.Ends, lists.Ends) {
		t.Error("links beside labels differ")
	}
	if none := must(l.Links(t.Context(), links.Forward, nil)); none.Len() != 0 {
		t.Error(none)
	}
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

// TestLinksOverBrokenNetwork: answers that break off are asked for again, and are
// then whole and not twice there.
func TestLinksOverBrokenNetwork(t *testing.T) {
	r := seeded(t)
	plain := linkstest.New()
	changes := someChanges(r, 500, 300)
	if _, err := plain.Update(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	l, w := startLinks(t, plain, client.Options{}, func(n int, _ *http.Request) fate {
		return []fate{{refuse: true}, {cut: 5}, {cut: 400}, {}, {lose: true}, {cut: 3000}, {}}[n%7]
	})
	compareGraphs(t, l, plain, sample.Spec{N: 3, Mode: sample.ModeConsistent})
	if w.requests() < 20 {
		t.Errorf("%d requests", w.requests())
	}
	// Changes are sent again too: their effect is the same, their counts are not.
	before := must(plain.Stats(t.Context()))
	c := links.Change{Kind: links.AddLinks, Source: "http://new/", Targets: []string{"http://newer/"}}
	result, err := l.Update(t.Context(), []links.Change{c})
	if after := must(plain.Stats(t.Context())); err != nil || result.Added > 1 || after.Links != before.Links+1 {
		t.Errorf("%+v, %v: %d links", result, err, after.Links)
	}
}

// TestManyPages cuts large batches into calls.
func TestManyPages(t *testing.T) {
	g := linkstest.New()
	must(g.Update(t.Context(), []links.Change{{Source: "http://a/", Targets: []string{"http://b/", "http://a/" + strings.Repeat("x", 200<<10)}}}))
	l, w := startLinks(t, g, client.Options{}, fine)
	page := must(g.UIDs(t.Context(), []string{"http://a/"}))
	lists := must(l.Links(t.Context(), links.Forward, slices.Repeat(page, 120_001)))
	if lists.Len() != 120_001 || !slices.Equal(lists.At(0), lists.At(120_000)) || len(lists.At(60_000)) != 2 || w.requests() != 3 {
		t.Errorf("%d lists in %d requests", lists.Len(), w.requests())
	}
	long := must(g.URLs(t.Context(), lists.At(0)))
	uids := must(l.UIDs(t.Context(), slices.Repeat(long, 100))) // 20 MB of URLs
	if !slices.Equal(uids, slices.Repeat(lists.At(0), 100)) || w.requests() != 6 {
		t.Errorf("%d UIDs, or others, in %d requests", len(uids), w.requests()-3)
	}
}

// TestLargeChange: a list of more than a line holds is replaced by its beginning, and
// the rest is added.
func TestLargeChange(t *testing.T) {
	g := linkstest.New()
	l, w := startLinks(t, g, client.Options{}, fine)
	must(g.Update(t.Context(), []links.Change{{Source: "http://a/", Targets: []string{"http://old/"}}}))
	c := links.Change{Kind: links.ReplaceLinks, Source: "http://a/"}
	for i := range 50_003 {
		c.Targets = append(c.Targets, fmt.Sprintf("http://t/%d/%s", i, strings.Repeat("x", 90)))
		c.Labels = append(c.Labels, links.Label{Weight: float64(i)})
	}
	result, err := l.Update(t.Context(), []links.Change{c})
	if err != nil || result.Added != 50_003 || result.Deleted != 1 || w.requests() < 2 {
		t.Errorf("%+v, %v, %d requests", result, err, w.requests())
	}
	page := must(g.UIDs(t.Context(), []string{"http://a/", c.Targets[50_002]}))
	labels := must(l.Labels(t.Context(), links.Forward, page[:1]))
	at, _ := slices.BinarySearch(must(l.Links(t.Context(), links.Forward, page[:1])).Items, page[1])
	if len(labels.Items) != 50_003 || labels.Items[at].Weight != 50_002 {
		t.Errorf("%d labels, %+v", len(labels.Items), labels.Items[at])
	}
}

// TestLinksErrorsOfTheGraph: what the graph says can be told with errors.Is, on both
// sides of the network.
func TestLinksErrorsOfTheGraph(t *testing.T) {
	g := linkstest.New()
	g.HoldJobs = true
	must(g.Update(t.Context(), []links.Change{{Source: "http://a/", Targets: []string{"http://b/"}}}))
	l, w := startLinks(t, g, client.Options{Retries: 2}, fine)
	want := func(what string, err, target error, requests int) {
		t.Helper()
		if n := w.requests(); !errors.Is(err, target) || n != requests {
			t.Errorf("%s: %v after %d requests, want %v after %d", what, err, n, target, requests)
		}
		w.forget()
	}
	ctx := t.Context()
	page := must(g.UIDs(ctx, []string{"http://a/"}))
	_, err := l.PageRank(ctx)
	want("no job", err, links.ErrNoJob, 1)
	want("no job to stop", l.StopPageRank(ctx), links.ErrNoJob, 1)
	_, err = l.Rank(ctx, links.RankRequest{Algorithm: links.PageRank, Pages: page})
	want("no scores", err, links.ErrNoJob, 1)
	want("damping", l.StartPageRank(ctx, links.PageRankOptions{Damping: -1}), links.ErrInvalid, 1)
	want("start", l.StartPageRank(ctx, links.PageRankOptions{Damping: 0.5, Store: true}), nil, 1)
	want("busy", l.StartPageRank(ctx, links.PageRankOptions{}), links.ErrBusy, 1)
	if job, err := l.PageRank(ctx); err != nil || job != must(g.PageRank(ctx)) || job.State != "running" {
		t.Errorf("%+v, %v", job, err)
	}
	w.forget()
	want("stop", l.StopPageRank(ctx), nil, 1)
	stores := l.Capabilities().Loader
	want("relinquish", stores.Relinquish(ctx, links.BackwardStore|links.URLStore), nil, 1)
	if got := g.Loaded(); got != links.ForwardStore {
		t.Errorf("%s is loaded", got)
	}
	want("request", stores.Request(ctx, links.BackwardStore), nil, 1)
	if all, err := stores.Stores(ctx); err != nil || len(all) != 1 || all[0].Relinquished != links.URLStore {
		t.Errorf("%+v, %v", all, err)
	}
	w.forget()
	want("request", stores.Request(ctx, links.AllStores), nil, 1)

	epoch := must(l.Stats(ctx)).Epoch
	w.forget()
	now, err := l.Epoch(ctx)
	if now != epoch {
		t.Errorf("the epoch is %d, and %d by its statistics", now, epoch)
	}
	want("the epoch", err, nil, 1)
	now, err = l.AtEpoch(epoch + 1).Epoch(ctx)
	if now != epoch {
		t.Errorf("the epoch is %d, and was %d", now, epoch)
	}
	want("the epoch of a graph that has changed", err, nil, 1)
	empty, others := startLinks(t, linkstest.New(), client.Options{Retries: 2}, fine)
	if now, err := empty.Epoch(ctx); now != 0 || !errors.Is(err, links.ErrEpoch) || others.requests() != 1 {
		t.Errorf("a graph that tells none: %d, %v after %d requests", now, err, others.requests())
	}
	_, err = l.AtEpoch(epoch).Links(ctx, links.Forward, page)
	want("at the epoch", err, nil, 1)
	for what, read := range map[string]func(l *client.Links) error{
		"links": func(l *client.Links) error { _, err := l.Links(ctx, links.Forward, page); return err },
		"pages": func(l *client.Links) error { _, err := l.Pages(ctx, 0, 5); return err },
		"rank": func(l *client.Links) error {
			_, err := l.Rank(ctx, links.RankRequest{Algorithm: links.SALSA, Pages: page})
			return err
		},
	} {
		want(what+" at another epoch", read(l.AtEpoch(epoch+1)), links.ErrEpoch, 1)
	}

	g.Fail(links.ErrLoading)
	_, err = l.UIDs(ctx, []string{"http://a/"})
	want("loading", err, links.ErrLoading, 3)
	want("loading", l.StartPageRank(ctx, links.PageRankOptions{}), links.ErrLoading, 3)
	_, err = l.Update(ctx, []links.Change{{Source: "http://a/", Targets: []string{"http://b/"}}})
	want("loading", err, links.ErrLoading, 3)
	g.Fail(nil)
	_, err = l.Update(ctx, []links.Change{{Source: "a", Targets: []string{"http://b/"}}})
	want("a relative source", err, links.ErrInvalid, 1)
	for what, c := range map[string]links.Change{
		"kind":   {Kind: 7, Source: "http://a/"},
		"labels": {Source: "http://a/", Targets: []string{"http://b/"}, Labels: []links.Label{}},
		"weight": {Source: "http://a/", Targets: []string{"http://b/"}, Labels: []links.Label{{Weight: math.NaN()}}},
		"anchor": {Source: "http://a/", Targets: []string{"http://b/"}, Labels: []links.Label{{Weight: 1, Anchor: "\xff"}}},
		"source": {Source: "http://a/\xff", Targets: []string{"http://b/"}},
		"target": {Source: "http://a/", Targets: []string{"http://b/\xff"}},
	} {
		_, err := l.Update(ctx, []links.Change{c})
		want(what, err, links.ErrInvalid, 0)
	}
	url, _ := startNode(t, server.Options{})
	_, err = newClient(t, url, client.Options{}).Links.Stats(ctx)
	if !errors.Is(err, client.ErrNotFound) || errors.Is(err, links.ErrNoJob) {
		t.Errorf("a node without links: %v", err)
	}
}

// TestUpdateAll: what comes before an error is done.
func TestUpdateAll(t *testing.T) {
	g := linkstest.New()
	l, _ := startLinks(t, g, client.Options{}, fine)
	failed := errors.New("the crawl ended")
	result, err := l.UpdateAll(t.Context(), func(yield func(links.Change, error) bool) {
		_ = yield(links.Change{Source: "http://a/", Targets: []string{"http://b/", "http://c/"}}, nil) &&
			yield(links.Change{Kind: links.DeleteLinks, Source: "http://a/", Targets: []string{"http://b/"}, Labels: []links.Label{cell.NoLabel}}, nil) &&
			yield(links.Change{}, failed)
	})
	if !errors.Is(err, failed) || result.Added != 2 || result.Deleted != 1 || result.Pages != 3 {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestStrangeAnswers: what is no answer of a node's is an error, and is not asked for
// again.
func TestStrangeAnswers(t *testing.T) {
	for _, body := range []string{"", "<html>", "tLL\x01\x02\x00\x00E", "tLL\x01\x01\x02\x05\x00E", "tLL\x01\x01\x00EE"} {
		l, w := startLinks(t, linkstest.New(), client.Options{Retries: 2}, func(int, *http.Request) fate {
			return fate{instead: &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ProtoMajor: 1, ProtoMinor: 1}}
		})
		_, err := l.Links(context.Background(), links.Forward, []uid.UID{1})
		if requests := 1 + 2*min(1, 1-min(1, len(body))); err == nil || w.requests() != requests {
			t.Errorf("%q: %v after %d requests", body, err, w.requests())
		}
	}
}

// TestLinksConform: a graph behind a node passes the conformance test.
func TestLinksConform(t *testing.T) {
	l, _ := startLinks(t, linkstest.New(), client.Options{}, fine)
	linkstest.TestGraph(t, l, nil)
}
