// Tests of the oracle.

package oracle

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

func fruit(name string) dataset.Statement {
	return dataset.Statement{S: "<http://e.x/" + name + ">", P: "<http://e.x/p>", O: `"o"`}
}

// An oracle takes of each answer what changes in flight and of unknown outcome leave
// open, and nothing else.
func TestOracle(t *testing.T) {
	all := dataset.Search{Order: "spo"}
	var o Oracle
	begin := func(kind dataset.Kind, names ...string) *Change {
		t.Helper()
		op := dataset.Op{Kind: kind}
		for _, name := range names {
			op.Statements = append(op.Statements, fruit(name))
		}
		c, err := o.Begin(op)
		require.NoError(t, err)
		return c
	}
	end := func(c *Change, outcome Outcome) {
		t.Helper()
		require.NoError(t, o.End(c, outcome))
	}
	check := func(r *Read, s dataset.Search, want string, names ...string) {
		t.Helper()
		var answer []dataset.Statement
		for _, name := range names {
			answer = append(answer, fruit(name))
		}
		switch err := r.Check(s, answer); {
		case want == "" && err != nil:
			t.Errorf("%v: %v", names, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v: %v, not %q", names, err, want)
		}
	}

	// 1. Nothing is in flight.
	end(begin(dataset.Add, "a", "b"), Done)
	check(o.Read(), all, "", "a", "b")
	check(o.Read(), all, "missing", "a")
	check(o.Read(), all, "cannot be there", "a", "b", "c")
	check(o.Read(), all, "comes twice", "a", "a", "b")
	check(o.Read(), all, "out of order", "b", "a")
	check(o.Read(), dataset.Search{Order: "spo", Limit: 1}, "", "a")
	check(o.Read(), dataset.Search{Order: "spo", Limit: 1}, "missing", "b")
	check(o.Read(), dataset.Search{Order: "spo", Limit: 1, Reverse: true}, "", "b")
	check(o.Read(), dataset.Search{Order: "spo", Limit: 1, Reverse: true}, "missing", "a")
	check(o.Read(), dataset.Search{Order: "spo", Limit: 1}, "of at most", "a", "b")
	check(o.Read(), dataset.Search{Pattern: fruit("a")}, "not asked for", "a", "b")

	// 2. A change is in flight, or was while a read was.
	before := o.Read()
	c := begin(dataset.Add, "c")
	during, other := o.Read(), o.Read()
	check(o.Read(), all, "", "a", "b")
	check(o.Read(), all, "", "a", "b", "c")
	end(c, Done)
	check(before, all, "", "a", "b")
	check(during, all, "", "a", "b", "c")
	check(o.Read(), all, "missing", "a", "b")
	check(other, all, "missing", "a", "c")
	before = o.Read()
	end(begin(dataset.Delete, "c"), Done)
	check(before, all, "", "a", "b", "c")
	check(o.Read(), all, "cannot be there", "a", "b", "c")

	// 3. What is rejected was never there; what is unknown may come at any time.
	end(begin(dataset.Add, "d"), NotDone)
	end(begin(dataset.Delete, "a"), NotDone)
	check(o.Read(), all, "", "a", "b")
	check(o.Read(), all, "missing", "b")
	check(o.Read(), all, "cannot be there", "a", "b", "d")
	end(begin(dataset.Delete, "a"), Unknown)
	check(o.Read(), all, "", "b")
	check(o.Read(), all, "", "a", "b")
	end(begin(dataset.Add, "a"), Done)
	check(o.Read(), all, "", "b")
	if c := begin(dataset.Add, "a", "b", "e"); c.Least != 1 || c.Most != 2 {
		t.Errorf("%d to %d statements change", c.Least, c.Most)
	} else {
		end(c, Unknown)
	}
	end(begin(dataset.Delete, "e"), Done)
	check(o.Read(), all, "", "b", "e")
	if tally := o.Tally(); tally.Unknown != 2 || tally.Doubtful != 2 || tally.Certain != 1 {
		t.Errorf("%+v", tally)
	}

	// 4. What is there in the end stays.
	if err := o.SetState([]dataset.Statement{fruit("b"), fruit("e")}); err != nil {
		t.Error(err)
	}
	check(o.Read(), all, "missing", "b")
	if err := o.SetState([]dataset.Statement{fruit("b")}); err == nil {
		t.Error("contents that lack a statement are taken")
	}
}
