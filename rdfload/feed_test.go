// Tests of the feeder.

package rdfload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// fed is what a feeder hands out of a document.
func fed(t *testing.T, f feeder) (units []unit, counters []byteCounter, err error) {
	t.Helper()
	err = f.feed(context.Background(), func(c byteCounter) { counters = append(counters, c) }, func(u unit) error {
		units = append(units, u)
		return nil
	})
	return units, counters, err
}

// statements returns the statements of units, by their lines.
func statements(units []unit) (list []string) {
	for _, u := range units {
		if u.block == nil {
			for _, tr := range u.triples {
				list = append(list, tr.String())
			}
			continue
		}
		var st triple.RawStatement
		for {
			ok, err := u.block.Next(&st)
			if !ok {
				break
			}
			if err != nil {
				list = append(list, err.Error())
				continue
			}
			list = append(list, string(st.Tokens[triple.Subject]))
		}
	}
	return list
}

// TestFeederResumes feeds a document from the end of each of its units on, and
// finds the same units.
func TestFeederResumes(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, "<x:s%d> <x:p> \"%d\" .\n", i, i)
		if i%1000 == 999 {
			fmt.Fprintf(&lines, "<x:bad%d> .\n", i)
		}
	}
	for _, name := range []string{"a.nt", "b.ttl"} {
		for _, path := range []string{"", filepath.Join(dir, name)} {
			text := lines.String()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			opts := Options{Workers: 1, KeepGoing: true}
			opts.limits.blockBytes = 20_000
			opts = opts.withDefaults()
			f := feeder{options: &opts, block: opts.limits.blockBytes, prefix: "x", input: input.Source{Name: name, Path: path,
				Open: func() (*input.Reader, error) { return input.NewReader(strings.NewReader(text), name, input.Limits{}) }}}
			all, _, err := fed(t, f)
			if err != nil || len(all) < 5 || !all[len(all)-1].last {
				t.Fatalf("%s: %d units, %v", name, len(all), err)
			}
			bytes := int64(0)
			var want []string // statements; a block gives them once
			starts := make([]int, len(all)+1)
			for i, u := range all {
				want = append(want, statements(all[i:i+1])...)
				starts[i+1] = len(want)
				if bytes += u.bytes; u.number != int64(i) || u.last != (i == len(all)-1) {
					t.Fatalf("%s: unit %d is number %d, last %v", name, i, u.number, u.last)
				}
			}
			if bytes != int64(len(text)) {
				t.Errorf("%s: %d bytes of %d", name, bytes, len(text))
			}
			for i, u := range all {
				f.from = manifestInput{Units: u.number + 1, Offset: u.offset, Line: u.line}
				rest, counters, err := fed(t, f)
				if u.last {
					continue // Done: it is not fed again
				}
				if err != nil || len(rest) == 0 || rest[0].number != u.number+1 || !slices.Equal(statements(rest), want[starts[i+1]:]) {
					t.Fatalf("%s after unit %d: %d units, %v", name, i, len(rest), err)
				}
				if len(counters) > 1 { // the document's middle was sought
					if n := counters[0].BytesIn(); n > 64<<10 || counters[1].BytesIn() != int64(len(text)) {
						t.Errorf("%s after unit %d: %d bytes are read again, %d are counted", name, i, n, counters[1].BytesIn())
					}
				} else if name == "a.nt" && path != "" {
					t.Errorf("%s after unit %d is read from its start", name, i)
				}
			}
		}
	}
}

func TestFeederShortened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nt")
	if err := os.WriteFile(path, []byte("<x:s> <x:p> <x:o> .\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	opts := Options{}.withDefaults()
	for _, p := range []string{"", path} {
		f := feeder{options: &opts, block: 1000, from: manifestInput{Units: 3, Offset: 1000, Line: 7}, input: input.Source{Name: "a.nt", Path: p,
			Open: func() (*input.Reader, error) {
				return input.NewReader(bytes.NewReader([]byte("<x:s> <x:p> <x:o> .\n")), "a.nt", input.Limits{})
			}}}
		if _, _, err := fed(t, f); !errors.Is(err, ErrChanged) {
			t.Errorf("path %q: %v", p, err)
		}
	}
}

// TestUnitsEnd has statements so long that few of them make a unit.
func TestUnitsEnd(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "<x:s> <x:p> \"%d%s\" .\n", i, strings.Repeat("x", 100<<10))
	}
	opts := Options{}.withDefaults()
	f := feeder{options: &opts, input: input.Source{Name: "a", Syntax: syntax.Turtle, Open: func() (*input.Reader, error) {
		return input.NewReader(strings.NewReader(text.String()), "a", input.Limits{})
	}}}
	units, _, err := fed(t, f)
	if err != nil || len(statements(units)) != 100 {
		t.Fatal(len(units), err)
	}
	for _, u := range units {
		if len(u.triples) > unitBytes/(100<<10)+1 {
			t.Errorf("a unit of %d triples", len(u.triples))
		}
	}
}

// TestFailure says which of several errors a load ends with.
func TestFailure(t *testing.T) {
	syntax := func(line int) error { return &triple.SyntaxError{Line: line, Msg: "bad"} }
	other := errors.New("other")
	type at struct {
		err    error
		source int
		number int64
	}
	for i, test := range []struct {
		errs []at
		want int
	}{
		{[]at{{other, 3, 3}, {syntax(1), 0, 0}}, 0},
		{[]at{{context.Canceled, 0, 0}, {syntax(1), 5, 5}, {context.Canceled, 0, 0}}, 1},
		{[]at{{fmt.Errorf("read: %w", context.DeadlineExceeded), 0, 0}, {other, 5, 5}}, 1},
		{[]at{{syntax(9), 1, 3}, {syntax(5), 1, 2}, {syntax(7), 2, 0}}, 1},
		{[]at{{syntax(9), 1, 3}, {syntax(5), 0, 9}}, 1},
		{[]at{{syntax(9), 1, 3}, {other, 0, 0}}, 0},
	} {
		f := failure{cancel: func() {}}
		for _, e := range test.errs {
			f.set(e.err, e.source, e.number)
		}
		if got := f.get(); got != test.errs[test.want].err {
			t.Errorf("test %d: %v", i, got)
		}
	}
}
