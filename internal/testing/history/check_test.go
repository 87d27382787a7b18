// Planted anomalies: small histories that must be found, named and attributed to a level.

package history

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

var (
	txnLine = regexp.MustCompile(`^p(\d+) \[(\d+),(\d+)\] (unknown|committed|aborted)(.*)$`)
	opText  = regexp.MustCompile(`(r|a)\((\d+)(?:,(\d+))?\)(?:=(torn|\[[^\]]*\]))?`)
)

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// parse returns the history of lines in the format of Txn.String.
func parse(t *testing.T, text string) (h []Txn) {
	t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		m := txnLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no transaction: %q", line)
		}
		txn := Txn{Process: number(t, m[1]), Begin: number(t, m[2]), End: number(t, m[3])}
		txn.Outcome = map[string]Outcome{"unknown": Unknown, "committed": Committed, "aborted": Aborted}[m[4]]
		for _, o := range opText.FindAllStringSubmatch(m[5], -1) {
			op := Op{Kind: Append, Key: number(t, o[2])}
			if o[1] == "a" {
				op.Value = number(t, o[3])
			} else {
				op.Kind, op.List = Read, []int{}
				for _, value := range strings.Fields(strings.Trim(o[4], "[]torn")) {
					op.List = append(op.List, number(t, value))
				}
				if o[4] == "torn" {
					op = Op{Kind: Read, Key: op.Key, Torn: "planted"}
				}
			}
			txn.Ops = append(txn.Ops, op)
		}
		if got := txn.String(); got != line {
			t.Fatalf("read %q as %q", line, got)
		}
		h = append(h, txn)
	}
	return h
}

// Transactions of these histories overlap unless a case is about an order, so that no edge of real
// time is in the way.
var planted = []struct {
	name    string
	history string
	want    []string
	breaks  Level // the weakest
}{
	{"dirty write: each overwrote the other", `
		p0 [1,9] committed a(1,1) a(2,1)
		p1 [2,8] committed a(1,2) a(2,2)
		p2 [3,7] committed r(1)=[1 2] r(2)=[2 1]`,
		[]string{G0}, Level{ReadUncommitted, Unordered}},
	{"aborted read", `
		p0 [1,9] aborted a(1,1)
		p1 [2,8] committed r(1)=[1]`,
		[]string{G1a}, Level{ReadCommitted, Unordered}},
	{"intermediate read", `
		p0 [1,9] committed a(1,1) a(1,2)
		p1 [2,8] committed r(1)=[1]
		p2 [3,7] committed r(1)=[1 2]`,
		[]string{G1b, GSingle}, Level{ReadCommitted, Unordered}},
	{"circular information flow", `
		p0 [1,9] committed a(1,1) r(2)=[1]
		p1 [2,8] committed a(2,1) r(1)=[1]`,
		[]string{G1c}, Level{ReadCommitted, Unordered}},
	{"read skew: one append of a transaction is seen and the other is not", `
		p0 [1,9] committed a(1,1) a(2,1)
		p1 [2,8] committed r(1)=[1] r(2)=[]
		p2 [3,7] committed r(1)=[1] r(2)=[1]`,
		[]string{GSingle}, SnapshotIsolation},
	{"read skew, and nobody ever read the append that is missing", `
		p0 [1,9] committed a(1,1) a(2,1)
		p1 [2,8] committed r(1)=[1] r(2)=[]`,
		[]string{GSingle}, SnapshotIsolation},
	{"long fork", `
		p0 [1,9] committed a(1,1)
		p1 [2,8] committed a(2,1)
		p2 [3,7] committed r(1)=[1] r(2)=[]
		p3 [4,6] committed r(1)=[] r(2)=[1]`,
		[]string{GNonadjacent}, SnapshotIsolation},
	{"lost update", `
		p0 [1,9] committed r(1)=[] a(1,1)
		p1 [2,8] committed r(1)=[] a(1,2)
		p2 [3,7] committed r(1)=[1 2]`,
		[]string{GSingle, LostUpdate}, SnapshotIsolation},
	{"write skew", `
		p0 [1,9] committed r(1)=[] r(2)=[] a(1,1)
		p1 [2,8] committed r(1)=[] r(2)=[] a(2,1)
		p2 [3,7] committed r(1)=[1] r(2)=[1]`,
		[]string{G2Item}, Serializable},
	{"a transaction does not see its own append", `
		p0 [1,9] committed a(1,1) r(1)=[]`,
		[]string{Internal}, SnapshotIsolation},
	{"two reads of a transaction differ", `
		p0 [1,9] committed a(1,1)
		p1 [2,8] committed r(1)=[] r(1)=[1]`,
		[]string{Internal}, SnapshotIsolation},
	{"torn list", `
		p0 [1,9] committed r(1)=torn`,
		[]string{TornRead}, SnapshotIsolation},
	{"element twice", `
		p0 [1,9] committed a(1,1)
		p1 [2,8] committed r(1)=[1 1]`,
		[]string{DuplicateElement}, Level{ReadUncommitted, Unordered}},
	{"element of nobody", `
		p1 [2,8] committed r(1)=[7]`,
		[]string{GarbageRead}, Level{ReadUncommitted, Unordered}},
	{"two orders", `
		p0 [1,9] committed a(1,1)
		p1 [2,8] committed a(1,2)
		p2 [3,7] committed r(1)=[1 2]
		p3 [4,6] committed r(1)=[2 1]`,
		[]string{IncompatibleOrder}, Level{ReadCommitted, Unordered}},
	{"a stale read of another process", `
		p0 [1,2] committed a(1,1)
		p1 [3,4] committed r(1)=[]
		p2 [5,6] committed r(1)=[1]`,
		[]string{GSingle + realTimeSuffix}, StrongSnapshotIsolation},
	{"a stale read of the same process", `
		p0 [1,2] committed a(1,1)
		p0 [3,4] committed r(1)=[]
		p1 [3,5] committed r(1)=[1]`,
		[]string{GSingle + processSuffix, GSingle + realTimeSuffix}, StrongSessionSnapshotIsolation},
	{"an acknowledged append is lost", `
		p0 [1,2] committed a(1,1)
		p1 [3,4] committed r(1)=[]`,
		[]string{GSingle + realTimeSuffix}, StrongSnapshotIsolation},
	{"a read from the future", `
		p0 [1,2] committed r(1)=[1]
		p1 [3,4] committed a(1,1)`,
		[]string{G1c + realTimeSuffix}, Level{ReadCommitted, RealTimeOrder}},
	{"appends against the order of time", `
		p0 [1,2] committed a(1,1)
		p1 [3,4] committed a(1,2)
		p2 [1,9] committed r(1)=[2 1]`,
		[]string{G0 + realTimeSuffix}, Level{ReadUncommitted, RealTimeOrder}},
	{"time along a chain of others", `
		p0 [1,2] committed a(1,1)
		p1 [3,4] committed r(2)=[]
		p1 [5,6] committed r(3)=[]
		p2 [7,8] committed r(1)=[]
		p3 [1,9] committed r(1)=[1]`,
		[]string{GSingle + realTimeSuffix}, StrongSnapshotIsolation},
	{"an unknown transaction of which a half was seen", `
		p0 [1,2] unknown a(1,1) a(2,1)
		p1 [3,4] committed r(1)=[1] r(2)=[]`,
		[]string{GSingle}, SnapshotIsolation},
}

func TestPlanted(t *testing.T) {
	for _, c := range planted {
		t.Run(c.name, func(t *testing.T) {
			h := parse(t, c.history)
			report, err := Check(h)
			require.NoError(t, err)
			slices.Sort(c.want)
			if got := report.Names(); !slices.Equal(got, c.want) {
				t.Errorf("found %v, not %v:\n%s", got, c.want, Describe(h, report.Anomalies))
			}
			if len(report.Violations(c.breaks)) == 0 {
				t.Errorf("it does not break %s", c.breaks)
			}
			for _, a := range report.Anomalies {
				if !a.Weakest.Includes(c.breaks) {
					t.Errorf("it breaks %s, which %s does not include", a.Weakest, c.breaks)
				}
			}
		})
	}
}

// What looks strange and is allowed.
func TestClean(t *testing.T) {
	for name, text := range map[string]string{
		"reads of what overlaps": `
			p0 [1,9] committed a(1,1)
			p1 [2,3] committed r(1)=[1]
			p2 [4,5] committed r(1)=[1]`,
		"an unknown append that nobody sees": `
			p0 [1,2] unknown a(1,1)
			p1 [3,4] committed r(1)=[]`,
		"an unknown append that takes effect late, also for its process": `
			p0 [1,2] unknown a(1,1)
			p0 [3,4] committed r(1)=[]
			p0 [5,6] committed r(1)=[1]`,
		"an aborted append that nobody sees": `
			p0 [1,2] aborted a(1,1)
			p1 [3,4] committed r(1)=[]`,
		"own appends": `
			p0 [1,2] committed r(1)=[] a(1,1) r(1)=[1] a(1,2) r(1)=[1 2]
			p1 [3,4] committed r(1)=[1 2]`,
		"lists that are not in order yet": `
			p0 [1,9] committed a(1,1)
			p1 [2,8] committed a(1,2)
			p2 [3,7] committed r(1)=[]`,
	} {
		h := parse(t, text)
		report, err := Check(h)
		require.NoError(t, err)
		if len(report.Anomalies) > 0 {
			t.Errorf("%s:\n%s", name, Describe(h, report.Anomalies))
		}
	}
}

func TestDuplicateAppends(t *testing.T) {
	_, err := Check(parse(t, `
		p0 [1,2] committed a(1,1)
		p1 [3,4] aborted a(1,1)`))
	if err == nil || !strings.Contains(err.Error(), "element 1 of list 1 is appended by T0 and by T1") {
		t.Errorf("not refused: %v", err)
	}
}

// A report explains a cycle by its edges, and has the transactions.
func TestDescribe(t *testing.T) {
	h := parse(t, `
		p0 [1,2] committed a(1,1)
		p1 [3,4] committed r(1)=[]`)
	report, err := Check(h)
	require.NoError(t, err)
	want := "G-single-realtime (breaks strong snapshot isolation): T1 read key 1 without 1, which T0 appended; T0 ended before T1 began\n" +
		"\tT1 p1 [3,4] committed r(1)=[]\n\tT0 p0 [1,2] committed a(1,1)\n"
	if got := Describe(h, report.Anomalies); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A report has a few examples of each anomaly, whatever the store did.
func TestExamples(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "p%d [%d,%d] committed r(1)=[99]\n", i, 2*i, 2*i+1)
	}
	report, err := Check(parse(t, text.String()))
	require.NoError(t, err)
	if n := len(report.Anomalies); n != maxExamples {
		t.Errorf("%d anomalies, not %d", n, maxExamples)
	}
}

func TestLevels(t *testing.T) {
	for l, want := range map[Level]string{
		SnapshotIsolation: "snapshot isolation", StrongSessionSnapshotIsolation: "strong session snapshot isolation",
		StrongSnapshotIsolation: "strong snapshot isolation", Serializable: "serializable", StrictSerializable: "strict serializable",
	} {
		if l.String() != want {
			t.Errorf("%q, not %q", l, want)
		}
	}
	if Serializable.Includes(StrongSnapshotIsolation) || !StrictSerializable.Includes(StrongSnapshotIsolation) {
		t.Error("a level without real time includes one with it, or the strictest one does not")
	}
}
