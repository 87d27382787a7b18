// Messages about UIDs and URLs: how they are read.

package ranges

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/peer"
)

// parseNames reads a request for UIDs, see methodName: the URLs of pages that there may be.
func parseNames(body []byte) (urls []string, err error) {
	d := peer.NewDecoder(body)
	n := d.Count(1)
	if n > namedAtOnce {
		return nil, fmt.Errorf("%w: %d pages; %d are the most", peer.ErrMessage, n, namedAtOnce)
	}
	urls = make([]string, 0, n)
	for range n {
		url := d.String()
		if _, ok := iri(url); !ok && d.Err() == nil {
			return nil, fmt.Errorf("%w: %q is no IRI", peer.ErrMessage, url)
		}
		urls = append(urls, url)
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return urls, nil
}

// parseNamed reads the answer to so many pages: their UIDs.
func parseNamed(answer []byte, asked int) (uids []uid.UID, err error) {
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

// parseURLs reads what copies tell of a UID: its pages.
func parseURLs(d *peer.Decoder) ([]string, error) {
	urls := make([]string, d.Count(1))
	for i := range urls {
		urls[i] = d.String()
	}
	return urls, d.End()
}
