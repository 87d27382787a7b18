// Messages of assigning, decoded and checked.

package assign

import (
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/links/uid"
)

// parseAssign decodes a request for UIDs (MethodAssign). It rejects URLs that are no IRIs.
func parseAssign(body []byte) (urls []string, err error) {
	d := peer.NewDecoder(body)
	n := d.Count(1)
	if n > MaxAssigned {
		return nil, fmt.Errorf("%w: %d pages; %d are the most", peer.ErrMessage, n, MaxAssigned)
	}
	urls = make([]string, 0, n)
	for range n {
		url := d.String()
		if _, ok := linkkeys.NewIRI(url); !ok && d.Err() == nil {
			return nil, fmt.Errorf("%w: %q is no IRI", peer.ErrMessage, url)
		}
		urls = append(urls, url)
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return urls, nil
}

// parseAssigned decodes the UIDs of the given number of pages.
func parseAssigned(answer []byte, asked int) (uids []uid.UID, err error) {
	d := peer.NewDecoder(answer)
	if n := d.Count(1); d.Err() == nil && n != asked {
		return nil, fmt.Errorf("%w: %d UIDs for %d pages", peer.ErrMessage, n, asked)
	}
	uids = make([]uid.UID, asked)
	for i := range uids {
		if uids[i] = uid.UID(d.Uvarint()); d.Err() == nil && !uids[i].Valid() {
			return nil, fmt.Errorf("%w: the UID %d", peer.ErrMessage, uids[i])
		}
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return uids, nil
}

// parseURLs decodes the pages that copies have for a UID.
func parseURLs(d *peer.Decoder) ([]string, error) {
	urls := make([]string, d.Count(1))
	for i := range urls {
		urls[i] = d.String()
	}
	return urls, d.End()
}
