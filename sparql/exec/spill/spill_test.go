// Tests of queries in temporary files.

package spill_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
)

// TestSpilled: with little memory and temporary files a query must give the same as with much
// memory, and leave no file.
func TestSpilled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 2 {
		// The first round must need files. Of 1,400 people 8 of 10 have a name, and DISTINCT keeps a
		// digest of 40 bytes for each, so it needs 45 KiB. It has 40 KiB at most.
		people := 1400 + random.IntN(200)
		if round > 0 {
			people -= random.IntN(700)
		}
		src := sparqltest.Crowd(random.IntN, people)
		memory := int64(24<<10 + random.IntN((16+24*round)<<10))
		for i, test := range sparqltest.Spilling {
			want, _, err := sparqltest.Answer(context.Background(), src, test.Query, sparql.Options{})
			if err != nil {
				t.Fatal(err)
			}
			disk := &sparqltest.Files{}
			opts := sparql.Options{Options: exec.Options{Memory: memory, Spill: disk}}
			got, plan, err := sparqltest.Answer(context.Background(), src, test.Query, opts)
			if err != nil {
				t.Errorf("seed %d, round %d, query %d, %d bytes: %s: %v\n%s", seed, round, i, memory, test.Query, err, plan.Text(true))
				continue
			}
			if !test.Ordered {
				slices.Sort(want)
				slices.Sort(got)
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, round %d, query %d, %d bytes: %s: %d rows, want %d\n%s", seed, round, i, memory, test.Query, len(got), len(want), plan.Text(true))
				for n := range min(len(got), len(want)) {
					if got[n] != want[n] {
						t.Errorf("row %d:\ngot  %.300s\nwant %.300s", n, got[n], want[n])
						break
					}
				}
			}
			if disk.Open != 0 {
				t.Errorf("%s: %d files are left", test.Query, disk.Open)
			}
			if disk.Most > 200 {
				t.Errorf("%s: %d files at a time", test.Query, disk.Most)
			}
			if held := memoryOf(plan); held > memory+memory/2 {
				t.Errorf("%s: an operator held %d of %d bytes", test.Query, held, memory)
			}
			if round == 0 && test.Spills != "" && spilledBy(plan, test.Spills) == 0 {
				t.Errorf("%s: %s did not go to files with %d bytes:\n%s", test.Query, test.Spills, memory, plan.Text(true))
			}
		}
	}
}

func memoryOf(p *explain.Plan) int64 {
	most := p.Memory
	for _, in := range p.Inputs {
		most = max(most, memoryOf(in))
	}
	return most
}

func spilledBy(p *explain.Plan, operator string) int64 {
	n := int64(0)
	if strings.HasPrefix(p.Operator, operator) {
		n = p.Spilled
	}
	for _, in := range p.Inputs {
		n += spilledBy(in, operator)
	}
	return n
}

// TestSpillFails: if a file fails or was changed, the query must end, and its files must be
// removed.
func TestSpillFails(t *testing.T) {
	src := sparqltest.Crowd(rand.New(rand.NewPCG(7, 7)).IntN, 1500)
	flip := func(data []byte) []byte {
		data[len(data)/2] ^= 4
		return data
	}
	for _, test := range sparqltest.Spilling {
		if test.Spills == "" {
			continue
		}
		for name, disk := range map[string]*sparqltest.Files{
			"write": {FailAt: 3000},
			"first": {CreateAt: 1},
			"third": {CreateAt: 3},
			"short": {Spoil: func(data []byte) []byte { return data[:len(data)-1] }},
			"empty": {Spoil: func(data []byte) []byte { return nil }},
			"flip":  {Spoil: flip},
		} {
			opts := sparql.Options{Options: exec.Options{Memory: 40 << 10, Spill: disk}}
			_, _, err := sparqltest.Answer(context.Background(), src, test.Query, opts)
			if name == "third" && err == nil && disk.Made < 3 {
				continue
			}
			disturbed := disk.Spoil != nil
			if err == nil || !disturbed && !errors.Is(err, sparqltest.ErrDisk) || disturbed && !strings.Contains(err.Error(), "temporary file was changed") {
				t.Errorf("%s: %s: error %v", name, test.Query, err)
			}
			if disk.Open != 0 {
				t.Errorf("%s: %s: %d files are left", name, test.Query, disk.Open)
			}
		}
		disk := &sparqltest.Files{}
		opts := sparql.Options{Options: exec.Options{Memory: 40 << 10, Spill: disk, SpillBytes: 10_000}}
		_, _, err := sparqltest.Answer(context.Background(), src, test.Query, opts)
		if !errors.Is(err, sparql.ErrMemory) || !strings.Contains(err.Error(), "temporary files beyond their limit of 10000 bytes") {
			t.Errorf("%s: limit of files: %v", test.Query, err)
		}
		if disk.Open != 0 {
			t.Errorf("%s: %d files are left", test.Query, disk.Open)
		}
	}
}

// TestSpillAbandoned: a result closed early leaves no file.
func TestSpillAbandoned(t *testing.T) {
	src := sparqltest.Crowd(rand.New(rand.NewPCG(8, 8)).IntN, 1000)
	for _, test := range sparqltest.Spilling {
		for _, after := range []int{0, 100} {
			disk := &sparqltest.Files{}
			opts := sparql.Options{Options: exec.Options{Memory: 40 << 10, Spill: disk}}
			result, err := sparql.Query(context.Background(), src, test.Query, opts)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range result.Rows() {
				if err != nil {
					t.Errorf("%s: %v", test.Query, err)
				}
				if n++; n > after {
					break
				}
			}
			if disk.Open != 0 {
				t.Errorf("%s: %d files are left", test.Query, disk.Open)
			}
		}
	}
}
