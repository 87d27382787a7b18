// Forming clusters of three and five processes, and growing them.

package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestThree and TestFive: processes become a cluster that answers the same through
// each of them, at every endpoint.
func TestThree(t *testing.T) { testForm(t, 3) }
func TestFive(t *testing.T)  { testForm(t, 5) }

func testForm(t *testing.T, n int) {
	t.Parallel()
	c := form(t, n)
	h := &history{}
	c.fill(h, 4000)
	c.mustHold(h)
	for _, m := range c.machines {
		m.mustAnswerAtDoors(t, h)
	}
	c.sameStatus()
}

// mustAnswerAtDoors asks for triple 41 and all of its predicate by the commands
// and by plain HTTP.
func (m *machine) mustAnswerAtDoors(t *testing.T, h *history) {
	t.Helper()
	one, to := tripleOf(41), []string{"--to", m.url()}
	count := strings.Count(trefoil(t, append([]string{"match"}, append(to, "? "+one.Predicate.String()+" ?")...)...).must(t, 0).stdout, "\n")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"match", one.Subject.String() + " ? " + one.Object.String()}, one.String() + "\n"},
		{[]string{"range", "--order", "pos", "--prefix", one.Predicate.String(), "--ge", "41", "--lt", "46"}, one.String() + "\n"},
		{[]string{"count", "? " + one.Predicate.String() + " ?"}, fmt.Sprintln(count)},
		{[]string{"query", "--format", "csv", "-e", "SELECT ?s { ?s ?p " + one.Object.String() + " }"}, "s\r\n" + one.Subject.Value() + "\r\n"},
	} {
		args := append([]string{test.args[0]}, append(to, test.args[1:]...)...)
		if got := trefoil(t, args...).must(t, 0).stdout; got != test.want {
			t.Errorf("trefoil %s: %.500q, want %q", strings.Join(args, " "), got, test.want)
		}
	}
	if err := h.checkCount(41%predicates, h.now(), h.now(), int64(count)); err != nil {
		t.Error(err)
	}
	if got := m.get(t, "/triples?"+url.Values{"o": {one.Object.String()}}.Encode()); !strings.Contains(got, one.Subject.String()) {
		t.Errorf("/triples: %.500s", got)
	}
	query := url.Values{"query": {"ASK { " + one.String() + " }"}}
	if got := m.get(t, "/sparql?"+query.Encode()); !strings.Contains(strings.ReplaceAll(got, " ", ""), `"boolean":true`) {
		t.Errorf("/sparql: %.500s", got)
	}
}

func (m *machine) get(t *testing.T, path string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url()+path, nil)
	require.NoError(t, err)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v: %s", path, resp.Status, err, body)
	}
	return string(body)
}

// sameStatus checks that every machine says the same of the cluster. What differs
// is of the moment, or of the machine that is asked.
func (c *cluster) sameStatus() {
	c.t.Helper()
	plain := func(m *machine) (string, error) {
		s, err := m.status()
		s.FreeBytes = 0
		for i := range s.Members {
			m := &s.Members[i]
			m.Lease, m.FreeBytes, m.Bytes = 0, 0, 0
		}
		text, _ := json.Marshal(s)
		return string(text), err
	}
	until(c.t, "the same status from all", func() error {
		first, err := plain(c.machines[0])
		if err != nil {
			return err
		}
		for _, m := range c.machines[1:] {
			other, err := plain(m)
			if err != nil {
				return err
			}
			if other != first {
				return fmt.Errorf("machine 1 says\n%s\nand machine %d\n%s", first, m.number, other)
			}
		}
		return nil
	})
}

// TestGrow: the data of a node alone goes along when it becomes a cluster, while
// clients write and read.
func TestGrow(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	first := c.machines[0]
	first.start()
	first.ready()
	h := &history{}
	alone := &cluster{t: t, machines: c.machines[:1]}
	alone.fill(h, 3000)
	l := alone.startLoad(h, newRandom(t))
	for i, m := range c.machines[1:] {
		m.args = append(m.args, "--join", first.address)
		m.start()
		m.ready()
		c.whole(i + 2)
	}
	l.goOn(8)
	l.log("growing from one to three")
	l.stop()
	c.mustHold(h)
	var s client.Status
	if s = c.whole(3); s.Segments < 4 {
		t.Errorf("%d segments", s.Segments)
	}
}
