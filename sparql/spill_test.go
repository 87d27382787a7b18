package sparql_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// files are temporary files in memory, which can fail.
type files struct {
	made, open, most int
	bytes, failAt    int64 // failAt: which byte cannot be written; 0 for none
	spoil            func(data []byte) []byte
	createAt         int // which file cannot be made; 0 for none
}

var errDisk = errors.New("no space left on device")

func (f *files) Create() (exec.SpillFile, error) {
	f.made++
	if f.made == f.createAt {
		return nil, errDisk
	}
	f.open++
	f.most = max(f.most, f.open)
	return &file{files: f}, nil
}

type file struct {
	files  *files
	data   []byte
	read   bool
	closed bool
}

func (f *file) Write(b []byte) (int, error) {
	if f.closed || f.read {
		return 0, errors.New("written after it was read")
	}
	f.files.bytes += int64(len(b))
	if f.files.failAt > 0 && f.files.bytes >= f.files.failAt {
		return 0, errDisk
	}
	f.data = append(f.data, b...)
	return len(b), nil
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	if f.closed {
		return 0, errors.New("read after it was closed")
	}
	if !f.read && f.files.spoil != nil {
		f.data = f.files.spoil(f.data)
	}
	f.read = true
	n := copy(b, f.data[min(at, int64(len(f.data))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Close() error {
	if f.closed {
		return errors.New("closed twice")
	}
	f.closed = true
	f.files.open--
	return nil
}

// crowd returns n people whose properties repeat, lack and differ in length.
func crowd(random *rand.Rand, n int) *memsource.Source {
	var all []triple.Triple
	for i := range n {
		s := iri(fmt.Sprintf("p%05d", i))
		add := func(p string, o triple.Term) {
			all = append(all, triple.Triple{Subject: s, Predicate: iri(p), Object: o})
		}
		add("age", triple.NewTyped(fmt.Sprint(random.IntN(50)), triple.XSDInteger))
		for range random.IntN(3) {
			add("knows", iri(fmt.Sprintf("p%05d", random.IntN(n))))
		}
		if random.IntN(4) > 0 {
			add("name", triple.NewString(fmt.Sprintf("name %d", random.IntN(n))))
		}
		if random.IntN(50) == 0 {
			add("name", triple.NewString(strings.Repeat("long ", 60+random.IntN(300))+fmt.Sprint(i)))
		}
		add("paid", triple.NewTyped(fmt.Sprintf("%d.%d", random.IntN(100), random.IntN(10)), triple.XSDDecimal))
	}
	return memsource.New(all)
}

// spilling are queries that hold more than a little memory, and the operators that
// go to files in their plans.
var spilling = []struct {
	query   string
	ordered bool
	spills  string
}{
	{`SELECT ?a ?n ?k { ?a <x:name> ?n OPTIONAL { ?a <x:knows> ?k } } ORDER BY DESC(?n) ?k ?a`, true, "order by"},
	{`SELECT ?a ?x { ?a <x:age> ?x } ORDER BY ?x`, true, "order by"},
	{`SELECT ?a ?n { ?a <x:name> ?n } ORDER BY STRLEN(?n) LIMIT 800`, true, "top"},
	{`SELECT DISTINCT ?a ?n { ?a <x:name> ?n . ?a <x:age> ?x . ?b <x:age> 7 }`, false, "distinct"},
	{`SELECT DISTINCT ?n ?x { ?a <x:name> ?n . ?a <x:age> ?x . ?b <x:age> 7 } ORDER BY ?x DESC(?n)`, true, "distinct"},
	{`SELECT REDUCED ?n { ?a <x:name> ?n }`, false, ""},
	{`SELECT ?n (COUNT(*) AS ?c) (SUM(?x) AS ?s) (AVG(?y) AS ?v) (MIN(?k) AS ?least) (MAX(?x) AS ?most)
	  { ?a <x:name> ?n . ?a <x:age> ?x . ?a <x:paid> ?y OPTIONAL { ?a <x:knows> ?k } } GROUP BY ?n`, false, "group"},
	{`SELECT ?x (COUNT(DISTINCT ?n) AS ?c) (SUM(DISTINCT ?y) AS ?s) (COUNT(?k) AS ?d) { ?a <x:age> ?x . ?a <x:name> ?n . ?a <x:paid> ?y OPTIONAL { ?a <x:knows> ?k } }
	  GROUP BY ?x`, false, "group"},
	{`SELECT ?x (GROUP_CONCAT(?n; SEPARATOR=", ") AS ?all) (SAMPLE(?n) AS ?one) (COUNT(?k) AS ?c) { ?a <x:age> ?x . ?a <x:name> ?n OPTIONAL { ?a <x:knows> ?k } }
	  GROUP BY ?x`, false, "group"},
	{`SELECT (STRLEN(?n) AS ?l) (GROUP_CONCAT(DISTINCT ?x) AS ?all) (COUNT(DISTINCT *) AS ?c) { ?a <x:age> ?x . ?a <x:name> ?n } GROUP BY ?n`, false, "group"},
	{`SELECT (COUNT(DISTINCT ?n) AS ?c) { ?a <x:name> ?n . ?a <x:age> ?x }`, false, "distinct"},
	{`SELECT ?x (COUNT(DISTINCT ?n) AS ?c) { ?a <x:name> ?n . ?a <x:age> ?x } GROUP BY ?x`, false, "distinct"},
	{`SELECT ?x (COUNT(DISTINCT *) AS ?c) { ?a <x:name> ?n . ?a <x:age> ?x } GROUP BY ?x`, false, "distinct"},
	{`SELECT * { ?a <x:age> ?x . { SELECT ?a ?n { ?a <x:name> ?n } } }`, false, "hash join"},
	{`SELECT * { ?a <x:age> 7 . { SELECT ?a ?k { ?a <x:name> ?n OPTIONAL { ?a <x:knows> ?k } } } { SELECT ?k ?a ?y { ?k <x:age> ?y } } }`, false, "hash join"},
	{`SELECT * { ?a <x:age> 7 . { SELECT ?b ?n { ?b <x:name> ?n } } }`, false, "hash join"},
	{`SELECT * { ?a <x:age> ?x OPTIONAL { SELECT ?a ?n { ?a <x:name> ?n FILTER(STRLEN(?n) > 7) } } }`, false, "hash left join"},
	{`SELECT * { ?a <x:age> ?x OPTIONAL { { SELECT ?a ?n { ?a <x:name> ?n } } FILTER(STRLEN(?n) < 2 * ?x) } }`, false, "hash left join"},
	{`SELECT * { ?a <x:age> 7 OPTIONAL { ?a <x:knows> ?k } OPTIONAL { SELECT ?k ?n { ?b <x:age> ?x OPTIONAL { ?k <x:name> ?n FILTER(?k = ?b) } } LIMIT 3000 } }`, false, ""},
	{`SELECT * { ?a <x:age> ?x MINUS { ?a <x:name> ?n FILTER(STRLEN(?n) > 7) } }`, false, "minus"},
	{`SELECT ?a ?x { ?a <x:age> ?x MINUS { ?a <x:name> ?n FILTER(STRLEN(?n) > 7) } } ORDER BY ?x ?a LIMIT 700`, true, "minus"},
	{`SELECT ?a ?x ?n ?z { ?a <x:age> ?x OPTIONAL { ?a <x:knows> ?k . { SELECT ?k ?n ?z { ?k <x:name> ?n . ?k <x:age> ?z } } } }`, false, ""},
	{`SELECT * { ?a <x:age> 7 FILTER EXISTS { ?a <x:knows> ?k . { SELECT DISTINCT ?k { ?k <x:name> ?n } } } }`, false, ""},
}

func answer(ctx context.Context, src sparql.Source, text string, opts sparql.Options) ([]string, *exec.Plan, error) {
	result, err := sparql.Query(ctx, src, text, opts)
	if err != nil {
		return nil, nil, err
	}
	var out []string
	for row, err := range result.Rows() {
		if err != nil {
			return out, result.Plan(), err
		}
		out = append(out, fmt.Sprint(row))
	}
	return out, result.Plan(), nil
}

// TestSpilled: with little memory and temporary files a query gives what it gives
// with much, and no file is left.
func TestSpilled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 2 {
		src := crowd(random, 900+random.IntN(700))
		memory := int64(24<<10 + random.IntN(40<<10))
		for i, test := range spilling {
			want, _, err := answer(context.Background(), src, test.query, sparql.Options{})
			if err != nil {
				t.Fatal(err)
			}
			disk := &files{}
			opts := sparql.Options{Options: exec.Options{Memory: memory, Spill: disk}}
			got, plan, err := answer(context.Background(), src, test.query, opts)
			if err != nil {
				t.Errorf("seed %d, round %d, query %d, %d bytes: %s: %v\n%s", seed, round, i, memory, test.query, err, plan.Text(true))
				continue
			}
			if !test.ordered {
				slices.Sort(want)
				slices.Sort(got)
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, round %d, query %d, %d bytes: %s: %d rows, want %d\n%s", seed, round, i, memory, test.query, len(got), len(want), plan.Text(true))
				for n := range min(len(got), len(want)) {
					if got[n] != want[n] {
						t.Errorf("row %d:\ngot  %.300s\nwant %.300s", n, got[n], want[n])
						break
					}
				}
			}
			if disk.open != 0 {
				t.Errorf("%s: %d files are left", test.query, disk.open)
			}
			if disk.most > 200 {
				t.Errorf("%s: %d files at a time", test.query, disk.most)
			}
			if held := memoryOf(plan); held > memory+memory/2 {
				t.Errorf("%s: an operator held %d of %d bytes", test.query, held, memory)
			}
			if round == 0 && test.spills != "" && spilledBy(plan, test.spills) == 0 {
				t.Errorf("%s: %s did not go to files with %d bytes:\n%s", test.query, test.spills, memory, plan.Text(true))
			}
		}
	}
}

func memoryOf(p *exec.Plan) int64 {
	most := p.Memory
	for _, in := range p.Inputs {
		most = max(most, memoryOf(in))
	}
	return most
}

func spilledBy(p *exec.Plan, operator string) int64 {
	n := int64(0)
	if strings.HasPrefix(p.Operator, operator) {
		n = p.Spilled
	}
	for _, in := range p.Inputs {
		n += spilledBy(in, operator)
	}
	return n
}

// TestSpillFails: an error of a file, or one that was changed, ends the query, and
// its files are removed all the same.
func TestSpillFails(t *testing.T) {
	src := crowd(rand.New(rand.NewPCG(7, 7)), 1500)
	flip := func(data []byte) []byte {
		data[len(data)/2] ^= 4
		return data
	}
	for _, test := range spilling {
		if test.spills == "" {
			continue
		}
		for name, disk := range map[string]*files{
			"write": {failAt: 3000},
			"first": {createAt: 1},
			"third": {createAt: 3},
			"short": {spoil: func(data []byte) []byte { return data[:len(data)-1] }},
			"empty": {spoil: func(data []byte) []byte { return nil }},
			"flip":  {spoil: flip},
		} {
			opts := sparql.Options{Options: exec.Options{Memory: 40 << 10, Spill: disk}}
			_, _, err := answer(context.Background(), src, test.query, opts)
			if name == "third" && err == nil && disk.made < 3 {
				continue
			}
			disturbed := disk.spoil != nil
			if err == nil || !disturbed && !errors.Is(err, errDisk) || disturbed && !strings.Contains(err.Error(), "temporary file was changed") {
				t.Errorf("%s: %s: error %v", name, test.query, err)
			}
			if disk.open != 0 {
				t.Errorf("%s: %s: %d files are left", name, test.query, disk.open)
			}
		}
		disk := &files{}
		opts := sparql.Options{Options: exec.Options{Memory: 40 << 10, Spill: disk, SpillBytes: 10_000}}
		_, _, err := answer(context.Background(), src, test.query, opts)
		if !errors.Is(err, sparql.ErrMemory) || !strings.Contains(err.Error(), "temporary files beyond their limit of 10000 bytes") {
			t.Errorf("%s: limit of files: %v", test.query, err)
		}
		if disk.open != 0 {
			t.Errorf("%s: %d files are left", test.query, disk.open)
		}
	}
}

// TestSpillAbandoned: a result that is closed early leaves no file.
func TestSpillAbandoned(t *testing.T) {
	src := crowd(rand.New(rand.NewPCG(8, 8)), 1000)
	for _, test := range spilling {
		for _, after := range []int{0, 100} {
			disk := &files{}
			opts := sparql.Options{Options: exec.Options{Memory: 40 << 10, Spill: disk}}
			result, err := sparql.Query(context.Background(), src, test.query, opts)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range result.Rows() {
				if err != nil {
					t.Errorf("%s: %v", test.query, err)
				}
				if n++; n > after {
					break
				}
			}
			if disk.open != 0 {
				t.Errorf("%s: %d files are left", test.query, disk.open)
			}
		}
	}
}
