// Tests of the messages about UIDs and URLs.

package assign

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// message encodes numbers as uvarints and strings.
func message(parts ...any) []byte {
	e := peer.NewEncoder(64)
	for _, part := range parts {
		switch part := part.(type) {
		case int:
			e.Uvarint(uint64(part))
		case uid.UID:
			e.Uvarint(uint64(part))
		case string:
			e.String(part)
		}
	}
	return e.Data()
}

func parseAssign(b []byte) (urls []string, err error) {
	var pages []page
	err = peer.Decode(b, codeAssign(&pages))
	for _, p := range pages {
		urls = append(urls, p.url)
	}
	return urls, err
}

func parseAssigned(b []byte, asked int) (uids []uid.UID, err error) {
	err = peer.Decode(b, codeAssigned(&uids, asked))
	return uids, err
}

func parseURLs(b []byte) (urls []string, err error) {
	err = peer.Decode(b, func(c *peer.Coder) { CodeURLs(c, &urls) })
	return urls, err
}

// TestMessages decodes the messages that members send each other about UIDs and URLs, and
// invalid ones.
func TestNameMessages(t *testing.T) {
	page := uid.Make(1, 2, 3)
	for _, c := range []struct {
		name string
		read func(b []byte) (string, error)
		good []byte
		want string
		bad  [][]byte
	}{
		{
			"names", func(b []byte) (string, error) {
				urls, err := parseAssign(b)
				return fmt.Sprint(urls), err
			},
			message(2, "a:", "http://example.org/"), "[a: http://example.org/]",
			[][]byte{message(1, "no IRI"), message(1, ""), message(1 << 62), append(message(MaxAssigned+1), make([]byte, MaxAssigned+1)...)},
		},
		{
			"named", func(b []byte) (string, error) {
				uids, err := parseAssigned(b, 2)
				return fmt.Sprint(uids), err
			},
			message(2, page, page+1), fmt.Sprint([]uid.UID{page, page + 1}),
			[][]byte{message(1, page), message(2, page, 0), message(3, page, page, page), message(1 << 62)},
		},
		{
			"URLs", func(b []byte) (string, error) {
				urls, err := parseURLs(b)
				return fmt.Sprint(urls), err
			},
			message(2, "a:", ""), "[a: ]",
			[][]byte{message(3, "a:", ""), message(1 << 62)},
		},
	} {
		if got, err := c.read(c.good); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
		bad := append(c.bad, append(slices.Clip(c.good), 0), nil)
		for size := range c.good {
			bad = append(bad, c.good[:size])
		}
		for _, b := range bad {
			if got, err := c.read(b); !errors.Is(err, peer.ErrMessage) {
				t.Errorf("%s: % x is read: %s, %v", c.name, b, got, err)
			}
		}
	}
}

// The bytes of claims must not change, because members of two versions run side by side during
// an upgrade, and copies store them.
func TestClaimBytes(t *testing.T) {
	claims := []Claim{{UID: 300, Name: "m", Stamp: triple.Stamp{Epoch: 2, Sequence: 400}, Late: true}}
	got := peer.Encode(0, func(c *peer.Coder) { CodeClaims(c, &claims) })
	if want := "01" + "ac02" + "029003" + "016d" + "01"; hex.EncodeToString(got) != want {
		t.Errorf("%x, want %s", got, want)
	}
}

func FuzzNameMessages(f *testing.F) {
	page := uid.Make(1, 2, 3)
	f.Add(message(2, "a:", "http://example.org/"))
	f.Add(message(2, page, page+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if urls, err := parseAssign(b); err == nil {
			for _, url := range urls {
				if _, ok := linkkeys.NewIRI(url); !ok {
					t.Errorf("%q is named", url)
				}
			}
		}
		if uids, err := parseAssigned(b, 2); err == nil && (len(uids) != 2 || !uids[0].Valid() || !uids[1].Valid()) {
			t.Errorf("%v", uids)
		}
		if urls, err := parseURLs(b); err == nil && len(urls) > len(b) {
			t.Errorf("%d URLs of %d bytes", len(urls), len(b))
		}
	})
}
