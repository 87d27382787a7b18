// The text of statistics and stores.

package links

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/links"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLinksStatsText(t *testing.T) {
	var text bytes.Buffer
	s := links.Stats{Loading: true, Progress: "cell 1 of 2", Servers: []links.ServerStats{{ID: "00a1", Pages: 5}, {ID: "00a2", Pages: 1}}}
	if err := printLinkStats(&text, s); err != nil || !strings.Contains(text.String(), "loading\tcell 1 of 2\n") || !strings.Contains(text.String(), "00a2 pages\t1\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestLinksStoresText(t *testing.T) {
	var text bytes.Buffer
	out := &text
	some := links.ServerStores{ID: "00a1", Cells: 3, Forward: links.StoreMemory{Cells: 2, Bytes: 20, FileBytes: 30}}
	if err := printStores(out, []links.ServerStores{some, {ID: "00a2"}}); err != nil || !strings.Contains(text.String(), "00a1\tforward\t20\t30\t2\t3\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
}
