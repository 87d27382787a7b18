// What a read of links must answer while others change them.

package cluster

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// Each change belongs to the pages whose links it changes, its sources. A read must have
// exactly the links of each source that nobody changes between the beginning and the end of the
// read. Sources are pages of allURLs, targets are pages of allPages. The links of a source are unknown from a change that failed until settleDoubts.

// touch counts a begin or an end of a change of a source. f.mu must be held.
func (f *frozen) touch(source string) {
	f.clock++
	f.touched[source] = f.clock
}

// takeOver copies the links of the plain map. f.mu must be held.
func (f *frozen) takeOver() {
	f.edges = map[edge]cell.Label{}
	for src, of := range f.links {
		for dst, label := range of {
			f.edges[edge{src, dst}] = label
		}
	}
}

// now returns the clock of changes.
func (f *frozen) now() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock
}

// claim begins a change of up to n random sources that nobody else changes.
func (f *frozen) claim(random *rand.Rand, n int) (sources []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		if source := randomURL(random); !f.pending[source] {
			f.pending[source] = true
			f.touch(source)
			sources = append(sources, source)
		}
	}
	return sources
}

// release ends a change of sources. If it is known to be made, apply changes the plain map.
func (f *frozen) release(sources []string, known bool, apply func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, source := range sources {
		f.touch(source)
		if known {
			delete(f.pending, source)
		}
	}
	if known {
		apply()
		f.takeOver()
	}
}

// unsure returns the sources that have been changed since a moment, or may be changed now.
func (f *frozen) unsure(since int) map[string]bool {
	all := f.pending[""] || f.touched[""] > since
	unsure := map[string]bool{}
	for _, source := range allURLs() {
		if all || f.pending[source] || f.touched[source] > since {
			unsure[source] = true
		}
	}
	return unsure
}

// toldAll records UIDs that were read, 0 for a URL that is no page, and returns the pages with their names.
func (f *frozen) toldAll(urls []string, found []uid.UID) (names map[uid.UID]string, pages []uid.UID) {
	names = map[uid.UID]string{}
	for i, u := range found {
		if u != 0 {
			f.told(urls[i], u)
			pages = append(pages, u)
			names[u] = urls[i]
		}
	}
	return names, pages
}

// compare compares what was read since a moment with the links that nobody has changed since. names
// are the pages that were known at the beginning of the read.
func (f *frozen) compare(since, kind int, got any, pages []uid.UID, names map[uid.UID]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// 1. The links that must be read.
	unsure := f.unsure(since)
	if len(unsure) == len(allURLs()) {
		return
	}
	f.compared++
	sure, linked := map[edge]cell.Label{}, map[string]bool{}
	for e, label := range f.edges {
		if !unsure[e.src] {
			sure[e] = label
			linked[e.src], linked[e.dst] = true, true
		}
	}
	named := map[string]bool{}
	for _, name := range names {
		named[name] = true
	}
	for page := range linked {
		if !named[page] {
			f.t.Errorf("after %s, read %d, begun at change %d of %d, last of all %d: %s has links, and no UID: %v", time.Since(f.start), kind, since, f.clock, f.touched[""], page, f.sourcesOf(page))
		}
	}
	// 2. What was read.
	switch got := got.(type) {
	case map[edge]cell.Label:
		read := maps.Clone(got)
		maps.DeleteFunc(read, func(e edge, _ cell.Label) bool { return unsure[e.src] })
		f.mustEqual(kind, read, sure)
	case map[edge]bool:
		read := map[edge]cell.Label{}
		for e := range got {
			// A page without a name got its UID during the read: it was changed.
			if e.src != "" && !unsure[e.src] {
				read[e] = sure[e]
			}
		}
		f.mustEqual(kind, read, sure)
	case map[string][2]int:
		f.compareDegrees(got, sure, unsure)
	case []string: // URLs
		for i, u := range pages {
			if got[i] != names[u] {
				f.t.Errorf("the URL of %s is %q, and was %q", u, got[i], names[u])
			}
		}
	case []uid.UID: // all pages, or the UIDs of all URLs
		for u, name := range names {
			if linked[name] && !slices.Contains(got, u) {
				f.t.Errorf("read %d: %s (%s) has links, and is missing among %d pages", kind, name, u, len(got))
			}
			if kind == kindPages && len(unsure) == 0 && !linked[name] && slices.Contains(got, u) {
				f.t.Errorf("%s (%s) has no links, and is a page", name, u)
			}
		}
	}
}

// sourcesOf returns the pages that link to a page or from it, with the clocks of their last changes.
func (f *frozen) sourcesOf(page string) map[string]int {
	all := map[string]int{}
	for e := range f.edges {
		if e.src == page || e.dst == page {
			all[e.src] = f.touched[e.src]
		}
	}
	return all
}

// mustEqual compares links that were read with those that must be read.
func (f *frozen) mustEqual(kind int, read, sure map[edge]cell.Label) {
	for e, label := range sure {
		if got, ok := read[e]; !ok || got != label {
			f.t.Errorf("read %d: the link from %s to %s is %t, %v; it is %v", kind, e.src, e.dst, ok, got, label)
		}
	}
	for e := range read {
		if _, ok := sure[e]; !ok {
			f.t.Errorf("read %d: there is a link from %s to %s; there is none", kind, e.src, e.dst)
		}
	}
}

// compareDegrees compares degrees with the links that must be read. Each unsure source may have a
// link to a page.
func (f *frozen) compareDegrees(got map[string][2]int, sure map[edge]cell.Label, unsure map[string]bool) {
	want := degreesOf(sure)
	for page, d := range got {
		if w := want[page]; !unsure[page] && d[0] != w[0] || d[1] < w[1] || d[1] > w[1]+len(unsure) {
			f.t.Errorf("after %s: %s has degrees %v; they are %v, with %d unsure sources", time.Since(f.start), page, d, w, len(unsure))
		}
	}
}

// look reads one kind of all pages, as it is now.
func (f *frozen) look(ctx context.Context, random *rand.Rand) error {
	g, since, urls := f.other(random), f.now(), allPages()
	found, err := g.UIDs(ctx, urls)
	if err != nil || f.isDead(g) {
		return err
	}
	names, pages := f.toldAll(urls, found)
	kind := random.IntN(kinds)
	var got any = found
	if kind != kindUIDs {
		g = f.other(random)
		if got, err = readKind(ctx, g, kind, pages, names); err != nil || f.isDead(g) {
			return err
		}
	}
	f.compare(since, kind, got, pages, names)
	return nil
}
