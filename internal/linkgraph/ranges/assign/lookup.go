// Look-ups of UIDs and URLs, in the cache and in the cluster.

package assign

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// LookUpUIDs returns the UIDs of pages, 0 if a page has none.
func (g *Assigner) LookUpUIDs(ctx context.Context, r *rowreader.Reader, urls []string) ([]uid.UID, error) {
	predicate := triple.NewIRI(links.UIDPredicate)
	found := make([]uid.UID, len(urls))
	var all []linkkeys.Wanted
	same := map[string]int{} // the first item with a URL that is not cached
	of := make([]int, len(urls))
	// 1. Take cached UIDs. Each other URL is looked up once.
	for i, url := range urls {
		if found[i] = g.CachedUID([]byte(url)); found[i] != 0 {
			continue
		}
		first, ok := same[url]
		if !ok {
			first = i
			same[url] = i
			// An invalid URL keeps UID 0.
			if subject, ok := linkkeys.NewIRI(url); ok {
				keys, err := linkkeys.RangeOf(triple.SPO, triple.Pattern{Subject: subject, Predicate: predicate})
				if err != nil {
					return nil, err
				}
				all = append(all, linkkeys.Wanted{Range: keys, Item: i})
			}
		}
		of[i] = first
	}
	if len(all) == 0 {
		return found, nil
	}
	// 2. The first claim of a page is its UID.
	claims, err := g.firstClaims(ctx, r, rowreader.CopiedUIDs, all, len(urls), func(i int, row *linkkeys.Row) bool {
		url, ok := row.Iri(triple.Subject)
		return ok && string(url) == urls[i] // not another long URL with the same hash
	})
	if err != nil {
		return nil, fmt.Errorf("look UIDs up: %w", err)
	}
	// 3. Fill in every occurrence, and cache each UID once.
	for i, url := range urls {
		if found[i] == 0 {
			if found[i] = claims[of[i]].UID; found[i] != 0 && of[i] == i {
				g.cache.put(url, found[i])
			}
		}
	}
	return found, nil
}

// CachedUID returns the UID of a page, 0 if it is not cached.
func (g *Assigner) CachedUID(url []byte) uid.UID {
	u, old := g.cache.uid(url)
	if old {
		g.cache.put(string(url), u)
	}
	return u
}

// AssignUIDs returns a UID for each URL and assigns one if the page has none. An invalid URL
// gets 0.
func (g *Assigner) AssignUIDs(ctx context.Context, r *rowreader.Reader, urls []string) ([]uid.UID, error) {
	found, err := g.LookUpUIDs(ctx, r, urls)
	if err != nil {
		return nil, err
	}
	var without []string
	var at []int
	for i, u := range found {
		if u == 0 {
			without, at = append(without, urls[i]), append(at, i)
		}
	}
	if len(without) == 0 {
		return found, nil
	}
	given, err := g.RequestUIDs(ctx, without)
	if err != nil {
		return nil, err
	}
	for i, u := range given {
		found[at[i]] = u
	}
	return found, nil
}

// AssignReporting is AssignUIDs with a reader of its own. It also reports whether data came
// from other orders or copies.
func (g *Assigner) AssignReporting(ctx context.Context, urls []string) (uids []uid.UID, degraded bool, err error) {
	if len(urls) == 0 {
		return nil, false, nil
	}
	err = g.Read(ctx, func(r *rowreader.Reader) error {
		uids, err = g.AssignUIDs(ctx, r, urls)
		degraded = r.Degraded()
		return err
	})
	return uids, degraded, err
}

// LookUpURLs returns the URLs of pages, "" if a page does not exist.
func (g *Assigner) LookUpURLs(ctx context.Context, r *rowreader.Reader, pages []uid.UID) ([]string, error) {
	predicate := triple.NewIRI(links.UIDPredicate)
	var all []linkkeys.Wanted
	found := make([]string, len(pages))
	same := map[uid.UID]int{}
	// 1. Take cached URLs. Each other UID is looked up once.
	for i, u := range pages {
		url, old := g.cache.url(u)
		if found[i] = url; old {
			g.cache.putURL(u, url)
		}
		if _, ok := same[u]; ok || url != "" || !u.Valid() {
			continue
		}
		// If a UID is cached or invalid, it is not looked up.
		same[u] = i
		keys, err := linkkeys.RangeOf(triple.POS, triple.Pattern{Predicate: predicate, Object: links.UIDTriple("a:", u).Object})
		if err != nil {
			return nil, err
		}
		all = append(all, linkkeys.Wanted{Range: keys, Item: i})
	}
	// 2. Look up the rest in POS. A URL from copies is not cached.
	err := r.LookUpOrCopied(ctx, rowreader.CopiedURLs, all, func(i int, row *linkkeys.Row) error {
		if u, ok := row.UID(); ok && u == pages[i] && found[i] == "" {
			url, _ := row.Iri(triple.Subject)
			found[i] = string(url)
			g.cache.putURL(u, found[i])
		}
		return nil
	}, func(i int, d *peer.Decoder) error {
		var all []string
		CodeURLs(d.Coder(), &all)
		// If the answer is rejected, another copy is asked, so it must not be stored.
		if err := d.End(); err != nil {
			return err
		}
		if len(all) > 0 && found[i] == "" {
			found[i] = all[0]
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look URLs up: %w", err)
	}
	// 3. Fill in repeated UIDs.
	for i, u := range pages {
		if first, ok := same[u]; ok {
			found[i] = found[first]
		}
	}
	return found, nil
}
