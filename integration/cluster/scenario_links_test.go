// Links of scenarios.

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// numPages is the number of pages that links lead to and from.
const numPages = 97

func pageURL(i int) string {
	return fmt.Sprintf("http://www%d.example.org/%d", i%numPages%13, i%numPages)
}

// linkNumbered returns the ends of the link with a number below numPages*(numPages-1).
func linkNumbered(i int) (src, dst string) { return pageURL(i), pageURL(i + 1 + i/numPages) }

// link adds links.
func (p *play) link(ctx context.Context, args []string) error {
	return p.linkBy(args, func(m *machine, all []triple.Triple) error {
		_, err := store.Add(ctx, m.node, all)
		return err
	})
}

// loadLinks adds links by a bulk load.
func (p *play) loadLinks(ctx context.Context, args []string) error {
	return p.linkBy(args, func(m *machine, all []triple.Triple) error {
		_, err := m.load(ctx, document(p.w.t, "links.nq", all, 0), false)
		return err
	})
}

func (p *play) linkBy(args []string, add func(m *machine, all []triple.Triple) error) error {
	n, err := parseNumbers(args[0])
	if err != nil {
		return err
	}
	var all []triple.Triple
	for i := n.from; i < n.to; i++ {
		src, dst := linkNumbered(i)
		all = append(all, links.Link(links.DefaultPredicate, src, dst))
	}
	if err := add(p.machineOf(args), all); err != nil {
		return err
	}
	for i := n.from; i < n.to; i++ {
		p.links[i] = true
	}
	return nil
}

// keepLinks opens a graph of links on a machine, now and when it starts again.
func (p *play) keepLinks(m *machine) error {
	if p.apis[m.node] != nil {
		return fmt.Errorf("%s has answered requests without links: start it again before", m.name)
	}
	m.links = p.w.t.TempDir()
	return m.openGraph()
}

// linksLimit is how long an answer about links may take: four waits for others, one after the other, for the
// UIDs of the pages, their degrees, their lists and the URLs of the ends. A question that is under way then may take
// readtimeout.Step longer.
const linksLimit = 4 * (readtimeout.Idle + readtimeout.Step)

// readLinks compares the links of all pages, in both directions, with those that the cluster must have.
func (p *play) readLinks(ctx context.Context, args []string) error {
	for _, m := range p.list(args) {
		if err := p.linksThrough(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) linksThrough(ctx context.Context, m *machine) error {
	api, err := p.api(m)
	for d := links.Forward; err == nil && d <= links.Backward; d++ {
		began := time.Now()
		if err = p.readDirection(ctx, api, d); err != nil {
			err = fmt.Errorf("%v links through %s: %w", d, m.name, err)
		}
		if took := time.Since(began); took > linksLimit {
			return fmt.Errorf("the answer took %s: %v", took, err)
		}
	}
	return err
}

func (p *play) readDirection(ctx context.Context, api *server.API, d links.Direction) error {
	// 1. What the answer must be.
	want, urls := map[string][]string{}, []string{}
	for i := range p.links {
		page, end := linkNumbered(i)
		if d == links.Backward {
			page, end = end, page
		}
		want[page] = append(want[page], end)
	}
	for i := range numPages {
		urls = append(urls, pageURL(i))
	}
	// 2. The answer.
	body, err := json.Marshal(map[string]any{"urls": urls, "direction": d.String(), "as": "urls"})
	if err != nil {
		return err
	}
	answer, err := ask(ctx, api, http.MethodPost, "/links/get", body)
	if err != nil {
		return err
	}
	var got struct{ Lists [][]string }
	if err := json.Unmarshal(answer, &got); err != nil || len(got.Lists) != len(urls) {
		return fmt.Errorf("%d lists of %d pages: %v", len(got.Lists), len(urls), err)
	}
	for i, list := range got.Lists {
		slices.Sort(list)
		slices.Sort(want[urls[i]])
		if !slices.Equal(list, want[urls[i]]) {
			return fmt.Errorf("%s: %v; they are %v", urls[i], list, want[urls[i]])
		}
	}
	return nil
}

// linked: each machine that keeps a graph of links has the cells that it must hold, and answers all links.
func (p *play) linked([]string) error {
	for _, m := range p.w.up() {
		if m.graph == nil {
			return fmt.Errorf("%s keeps no graph of links", m.name)
		}
		if held, missing := m.graph.Partitions(); missing > 0 {
			return fmt.Errorf("%s holds %d partitions of the links, and lacks %d", m.name, held, missing)
		}
		if err := p.linksThrough(p.w.t.Context(), m); err != nil {
			return err
		}
	}
	return nil
}
