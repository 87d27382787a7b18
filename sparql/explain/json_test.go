// Tests of plans as JSON.

package explain_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
)

type planJSON struct {
	Operator, Detail   string
	Estimate           *int64
	Rows, Reads, Nanos *int64
	Memory, Spilled    int64
	Warning            string
	Inputs             []planJSON
}

// TestPlanJSON: the plan as programs read it, before, during and after a run.
func TestPlanJSON(t *testing.T) {
	src := sparqltest.People(1000)
	clock := int64(0)
	opts := sparql.Options{Options: exec.Options{Memory: 64 << 10, Spill: &sparqltest.Files{}, Nanos: func() int64 { clock++; return clock }}}
	result, err := sparql.Query(context.Background(), src, `SELECT ?n { ?x <x:name> ?n FILTER(?n = "none" || EXISTS { ?x <x:age> ?a }) } ORDER BY ?n`, opts)
	if err != nil {
		t.Fatal(err)
	}
	read := func() planJSON {
		data, err := json.Marshal(result.Plan())
		if err != nil {
			t.Fatal(err)
		}
		var p planJSON
		if err := json.Unmarshal(data, &p); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		return p
	}
	if p := read(); p.Operator != "project" || *p.Rows != 0 || *p.Reads != 0 || p.Inputs[0].Spilled != 0 {
		t.Errorf("before the run: %+v", p)
	}
	n := 0
	for _, err := range result.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			if p := read(); *p.Rows == 0 || *p.Inputs[0].Inputs[0].Rows != 1000 {
				t.Errorf("during the run: %+v", p)
			}
		}
	}
	p := read()
	sort := p.Inputs[0]
	if *p.Rows != 1000 || sort.Operator != "order by" || *sort.Rows != 1000 || *sort.Nanos == 0 || sort.Estimate == nil ||
		sort.Memory == 0 || sort.Memory > 64<<10 || sort.Spilled < 10_000 {
		t.Errorf("after the run: %+v", p)
	}
	var exists *planJSON
	filter := sort.Inputs[0]
	for i, in := range filter.Inputs {
		if in.Operator == "exists" {
			exists = &filter.Inputs[i]
		}
	}
	if filter.Operator != "filter" || exists == nil || exists.Estimate != nil || len(exists.Inputs) != 1 {
		t.Errorf("EXISTS: %+v", filter)
	}
}

// TestDeepPlanJSON: operators too deep for a decoder are left out, with a warning at the one around.
func TestDeepPlanJSON(t *testing.T) {
	for _, operators := range []int{4000, 4001, 20_000} {
		top := &explain.Plan{Operator: "scan"}
		for range operators - 1 {
			top = &explain.Plan{Operator: "minus", Inputs: []*explain.Plan{top}}
		}
		var p planJSON
		data, err := json.Marshal(map[string]*explain.Plan{"plan": top})
		if err == nil {
			err = json.Unmarshal(data[len(`{"plan":`):len(data)-1], &p)
		}
		levels := 1
		for ; len(p.Inputs) > 0; levels++ {
			p = p.Inputs[0]
		}
		if cut := operators > 4000; err != nil || levels != 4000 || cut != (p.Warning == "operators below are left out: the plan as text has them") {
			t.Errorf("%d operators: %v, %d levels, the last is %+v", operators, err, levels, p)
		}
	}
}
