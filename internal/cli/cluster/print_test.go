// The status of a cluster as text.

package cluster

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPrintCluster(t *testing.T) {
	var out bytes.Buffer
	if err := printCluster(&out, clitest.Five); err != nil {
		t.Fatal(err)
	}
	want := `cluster    photos, generation 2
isolation  each triple is linearizable, and an update is atomic; not all of a query is promised to be of one state
epoch      1,017, fill
protocol   2.0; 1 of 5 members have a newer one
waiting    the walk of 00b2
copies     2 of 3 of each triple; bears the loss of 1 machine more
missing    1 machine: 10.0.0.2:7333
rebuilt    the copies of 1 machine: 00e9
excluded   1 machine, listed below: start what will come back, and give up the rest (trefoil cluster remove)
segments   1,024; 12 rebuilding
lost       1 range
triples    about 1,280,723
           pos from its beginning until <x:p> "7"^^<x:d> <x:s>, since epoch 1001

MACHINE  ADDRESS        STATE     ROLE    SEGMENTS  COPIES     TABLES   VERSION
00a1     10.0.0.1:7333  up        leader  400       1,200,000  3.0 MiB  1.4.0, protocol 2.1
00a2     10.0.0.2:7333  down      voter   0         0          0 B      protocol 2.0         1 epoch behind
00b2     10.0.0.3:7333  leaving   -       300       0          0 B      protocol 2.0         30% of 100 rows backfilled, 7 repaired, 1m20s left
00b3     10.0.0.4:7333  up        -       324       0          0 B      protocol 2.0         10 rows backfilled, 0 repaired; the disk is full
00c4     10.0.0.5:7333  spare     -       0         0          0 B      protocol 2.0
00e9     10.0.0.9:7333  excluded  -       -         -          -        -                    which is not heard of, since epoch 1016
`
	if got := trimLines(out.String()); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	const line = "epoch 1017 fill: 1 down, 1 excluded, 1 leaving, 1 spare, 2 up; 1,024 segments, 12 rebuilding, 1 lost; " +
		"36% of 110 rows backfilled, 7 repaired, 1m20s left; waiting: the walk of 00b2"
	if got := clusterLine(clitest.Five); got != line {
		t.Errorf("in a line\n%s\nwant\n%s", got, line)
	}
	joined := clitest.Five
	joined.Lost, joined.LostRanges, joined.Missing, joined.Excluded, joined.Members = 0, nil, nil, nil, clitest.Five.Members[:1]
	out.Reset()
	if err := printCluster(&out, joined); err != nil || !strings.Contains(out.String(), "1,024; 12 moving to their machines\n") || strings.Contains(out.String(), "missing") {
		t.Errorf("after a join: %v: %s", err, out.String())
	}
	many := clitest.Five
	many.LostRanges = make([]client.LostRange, maxLostRanges+3)
	out.Reset()
	if err := printCluster(&out, many); err != nil || !strings.Contains(out.String(), "and 3 more") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// trimLines takes the blanks off the ends of lines.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
