// Links with odd URLs in a cluster.

package cluster

// This file has a cluster keep links between pages with odd URLs.

import (
	"os"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/triple"
)

// Odd URLs, self-links, duplicates and links in named graphs, by any machine and at other
// endpoints; then a machine is lost, links
// are replaced and deleted, and a machine is restarted.
func TestAbuseOddURLs(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		urls := linkstest.OddURLs()
		if os.Getenv("TREFOIL_ABUSE") == "" { // some of them: all take ten seconds
			w.random.Shuffle(len(urls), func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
			urls = urls[:20]
		}
		for part := range slices.Chunk(urls, 20) {
			var changes []links.Change
			var others []triple.Triple
			for i, url := range part {
				c := links.Change{Source: url, Targets: []string{url, urls[w.random.IntN(len(urls))], part[(i+1)%len(part)]}}
				if i%2 == 0 {
					changes = append(changes, c, c)
				} else {
					for _, dst := range c.Targets {
						link := links.Link(links.DefaultPredicate, url, dst)
						named := link
						named.Graph = triple.NewIRI("urn:g")
						others = append(others, link, named)
					}
				}
				web.apply(c)
			}
			if _, err := web.some().Update(t.Context(), changes); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Add(t.Context(), w.any().node, others); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
		plain := &plainLinks{}
		for src, of := range web.links {
			for dst := range of {
				plain.add(src, dst)
			}
		}
		plain.compare(w, web.some()) // figures and rankings, too
		m := w.any()
		web.end(m)
		m.kill()
		web.answered()
		for i := 0; i < 20; i += 2 { // of the others a named graph has the links too
			c := links.Change{Kind: links.ReplaceLinks, Source: urls[i], Targets: urls[i : i+1]}
			web.apply(c)
			if _, err := web.some().Update(t.Context(), []links.Change{c}); err != nil {
				t.Fatal(err)
			}
		}
		w.settle()
		// Delete some, and restart a machine.
		for i := 0; i < 20; i += 4 {
			c := links.Change{Kind: links.DeleteLinks, Source: urls[i], Targets: urls[i : i+1]}
			web.apply(c)
			if _, err := web.some().Update(t.Context(), []links.Change{c}); err != nil {
				t.Fatal(err)
			}
		}
		m = w.any()
		web.end(m)
		m.stop()
		m.run()
		w.settle()
		web.open()
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
	})
}
