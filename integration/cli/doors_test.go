// Each command on a directory and through a server.

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// people is the store of these tests.
const people = `_:x <http://e.x/name> "Anonymous" .
<http://e.x/ann> <http://e.x/age> "41"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e.x/ann> <http://e.x/knows> <http://e.x/bob> .
<http://e.x/ann> <http://e.x/name> "Ann" .
<http://e.x/bob> <http://e.x/age> "9"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e.x/bob> <http://e.x/age> "09"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e.x/bob> <http://e.x/name> "Bob" .
<http://e.x/eve> <http://e.x/age> "-3.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<http://e.x/eve> <http://e.x/knows> <http://e.x/ann> <http://e.x/secrets> .
<http://e.x/eve> <http://e.x/name> "Ève"@fr .
`

// eachDoor runs a test on both ways to a store with people: the directory itself and a
// server.
func eachDoor(t *testing.T, test func(t *testing.T, door ...string)) {
	path := file(t, "people.nq", people)
	t.Run("data", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "store")
		trefoil(t, "add", "--data", data, "--blank", "keep", path).mustCode(t, done).mustSay(t, "added 10 triples")
		test(t, "--data", data)
		trefoil(t, "check", "--data", data).mustCode(t, done)
	})
	t.Run("to", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "store")
		s := serve(t, "--data", data)
		trefoil(t, "add", "--to", s.url, "--blank", "keep", path).mustCode(t, done).mustSay(t, "added 10 triples")
		test(t, "--to", s.url)
		s.stop(t)
		trefoil(t, "check", "--data", data).mustCode(t, done)
	})
}

// with inserts the flags of a way to the store after the command's name.
func with(door []string, command string, args ...string) []string {
	return append(append([]string{command}, door...), args...)
}

func TestMatch(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		for pattern, want := range map[string][]string{
			"<http://e.x/ann> ? ?":                    {"ann age 41", "ann knows bob", "ann name Ann"},
			"? <http://e.x/age> ?":                    {"eve age -3.5", "bob age 09", "bob age 9", "ann age 41"},
			"? ? <http://e.x/ann>":                    {"eve knows ann secrets"},
			"? ? ? <http://e.x/secrets>":              {"eve knows ann secrets"},
			"? <http://e.x/knows> ? default":          {"ann knows bob"},
			`? <http://e.x/name> "Ève"@fr`:            {"eve name Ève"},
			"?s <http://e.x/age> 9":                   {"bob age 9"},
			"_:x ? ?":                                 {"x name Anonymous"},
			"<http://e.x/nobody> ? ?":                 nil,
			"<http://e.x/ann> <http://e.x/knows> * .": {"ann knows bob"},
		} {
			for _, args := range [][]string{{pattern}, strings.Fields(pattern)} {
				out := trefoil(t, with(door, "match", args...)...).mustCode(t, done)
				if got := short(out.lines()); !slices.Equal(got, want) {
					t.Errorf("match %s: %q, want %q", pattern, got, want)
				}
			}
		}
		all := trefoil(t, with(door, "match")...).mustCode(t, done)
		if sorted(all.stdout) != sorted(people) {
			t.Errorf("match all:\n%s", all.stdout)
		}
		trefoil(t, with(door, "match", "<http://e.x/ann> ?")...).mustCode(t, usage).mustSay(t, "pattern")
	})
}

func TestRange(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		for _, test := range []struct {
			flags string
			want  []string
		}{
			{"--order pos --prefix <http://e.x/age> --ge 9", []string{"bob age 09", "bob age 9", "ann age 41"}},
			{"--order pos --prefix <http://e.x/age> --gt 9", []string{"ann age 41"}},
			{"--order pos --prefix <http://e.x/age> --ge -5 --lt 0", []string{"eve age -3.5"}},
			{"--order pos --prefix <http://e.x/age> --le 9.0 --reverse", []string{"bob age 9", "bob age 09", "eve age -3.5"}},
			{`--order pos --prefix <http://e.x/name> --starts "A`, []string{"ann name Ann", "x name Anonymous"}},
			{`--order osp --starts "È"@fr`, []string{"eve name Ève"}},
			{"--order spo --starts <http://e.x/b", []string{"bob age 09", "bob age 9", "bob name Bob"}},
			{"--order spo --from <http://e.x/bob> --until <http://e.x/eve>", []string{"bob age 09", "bob age 9", "bob name Bob"}},
			{"--order gspo", []string{"eve knows ann secrets"}},
			{"--order gspo --prefix <http://e.x/nowhere>", nil},
		} {
			out := trefoil(t, with(door, "range", strings.Fields(test.flags)...)...).mustCode(t, done)
			if got := short(out.lines()); !slices.Equal(got, test.want) {
				t.Errorf("range %s: %q, want %q", test.flags, got, test.want)
			}
		}
		trefoil(t, with(door, "range", "--order", "spo", "--ge", "<nonsense")...).mustCode(t, usage).mustSay(t, "--ge")
		trefoil(t, with(door, "range", "--order", "spo", "--starts", "<http://e.x/", "--ge", "1")...).mustCode(t, usage)
		trefoil(t, with(door, "range", "--order", "ops")...).mustCode(t, usage)
		trefoil(t, with(door, "range")...).mustCode(t, usage).mustSay(t, "--order")
	})
}

// Pages of any size, put together, are the whole.
func TestPages(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		for _, query := range [][]string{
			{"range", "--order", "spo"}, {"range", "--order", "osp", "--reverse"}, {"match", "? <http://e.x/age> ?"},
		} {
			whole := trefoil(t, with(door, query[0], query[1:]...)...).mustCode(t, done)
			for _, limit := range []int{1, 3, 4, 10, 11} {
				var lines []string
				for cursor := ""; ; {
					args := with(door, query[0], append(slices.Clone(query[1:]), "--limit", fmt.Sprint(limit))...)
					if cursor != "" {
						args = append(args, "--cursor", cursor)
					}
					page := trefoil(t, args...).mustCode(t, done)
					if n := len(page.lines()); n == 0 || n > limit {
						t.Fatalf("%q: a page of %d", args, n)
					}
					lines = append(lines, page.lines()...)
					var ok bool
					if _, cursor, ok = strings.Cut(strings.TrimSpace(page.stderr), "cursor: "); !ok {
						break
					}
				}
				if !slices.Equal(lines, whole.lines()) {
					t.Errorf("%q in pages of %d: %q, want %q", query, limit, lines, whole.lines())
				}
			}
		}
		first := trefoil(t, with(door, "match", "--limit", "1", "? <http://e.x/age> ?")...)
		_, cursor, _ := strings.Cut(strings.TrimSpace(first.stderr), "cursor: ")
		for _, bad := range []string{"x", "!!", cursor[:len(cursor)-2] + "__"} {
			if out := trefoil(t, with(door, "match", "--cursor", bad, "? ? <http://e.x/ann>")...); out.code == done {
				t.Errorf("cursor %q was taken: %q", bad, out.stdout)
			}
		}
		if out := trefoil(t, with(door, "range", "--order", "osp", "--cursor", cursor)...); out.code == done {
			t.Errorf("the cursor of another query was taken: %q", out.stdout)
		}
	})
}

func TestJSON(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		trefoil(t, with(door, "match", "--json", `? ? "Ève"@fr`)...).mustCode(t, done).mustPrint(t,
			`{"s":{"type":"uri","value":"http://e.x/eve"},"p":{"type":"uri","value":"http://e.x/name"},"o":{"type":"literal","value":"Ève","xml:lang":"fr"}}`+"\n")
		trefoil(t, with(door, "range", "--json", "--order", "gspo")...).mustCode(t, done).mustPrint(t,
			`{"s":{"type":"uri","value":"http://e.x/eve"},"p":{"type":"uri","value":"http://e.x/knows"},"o":{"type":"uri","value":"http://e.x/ann"},"g":{"type":"uri","value":"http://e.x/secrets"}}`+"\n")
		trefoil(t, with(door, "count", "--json", "? <http://e.x/age> ?")...).mustCode(t, done).mustPrint(t, `{"count":4,"exact":true}`+"\n")
		out := trefoil(t, with(door, "status", "--json")...).mustCode(t, done)
		var status struct {
			Version  string
			Members  []struct{ ID, State string }
			Segments int
			Triples  int64
			Lost     *int
		}
		require.NoError(t, json.Unmarshal([]byte(out.stdout), &status))
		if status.Triples != 10 || status.Segments < 1 || len(status.Members) != 1 || status.Lost == nil {
			t.Errorf("status: %s", out.stdout)
		}
	})
}

func TestCount(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		trefoil(t, with(door, "count")...).mustCode(t, done).mustPrint(t, "10\n")
		trefoil(t, with(door, "count", "? <http://e.x/knows> ?")...).mustCode(t, done).mustPrint(t, "2\n")
		trefoil(t, with(door, "count", "? ? ? default")...).mustCode(t, done).mustPrint(t, "9\n")
		trefoil(t, with(door, "count", "--estimate")...).mustCode(t, done)
	})
}

func TestDump(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		out := trefoil(t, with(door, "dump", "--no-annotations")...).mustCode(t, done)
		if sorted(out.stdout) != sorted(people) {
			t.Errorf("dump:\n%s", out.stdout)
		}
		trefoil(t, with(door, "range", "--order", "spo")...).mustCode(t, done).mustPrint(t, out.stdout)
		trefoil(t, with(door, "dump", "--format", "nt")...).mustCode(t, failed).mustSay(t, "<http://e.x/secrets>")
		// By default there is one line more, a comment that says that annotations may follow.
		trefoil(t, with(door, "dump")...).mustCode(t, done).mustPrint(t, "#@trefoil-annotations 1\n"+out.stdout)
		// A dump is a document like any other.
		trefoilWith(t, strings.NewReader(out.stdout), "convert", "-").mustCode(t, done).mustPrint(t, out.stdout)
	})
}

func TestAddDelete(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		more := file(t, "more.ttl", `@prefix e: <http://e.x/> . e:dan e:name "Dan" ; e:knows e:ann, [] . e:ann e:name "Ann" .`)
		trefoil(t, with(door, "add", "--json", more)...).mustCode(t, done).mustPrint(t, `{"added":3,"existing":1}`+"\n")
		// Blank nodes are fresh each time, all else is there already.
		trefoil(t, with(door, "add", "--json", more)...).mustCode(t, done).mustPrint(t, `{"added":1,"existing":3}`+"\n")
		labels := trefoil(t, with(door, "match", "<http://e.x/dan> <http://e.x/knows> ?")...).mustCode(t, done)
		if n := strings.Count(labels.stdout, "_:"); n != 2 {
			t.Fatalf("%d blank nodes, want 2:\n%s", n, labels.stdout)
		}
		// A label that an answer gave can be used in patterns and deletes.
		label := labels.stdout[strings.Index(labels.stdout, "_:"):]
		label = label[:strings.Index(label, " ")]
		trefoil(t, with(door, "count", "? ? "+label)...).mustCode(t, done).mustPrint(t, "1\n")
		trefoilWith(t, strings.NewReader(labels.stdout), with(door, "delete", "--json", "-")...).mustCode(t, done).
			mustPrint(t, `{"deleted":3,"missing":0}`+"\n")
		trefoilWith(t, strings.NewReader(labels.stdout), with(door, "delete", "-")...).mustCode(t, done).mustSay(t, "3 not there")
		trefoil(t, with(door, "delete", "--json", "--pattern", "<http://e.x/dan> ? ?")...).mustCode(t, done).
			mustPrint(t, `{"deleted":1,"missing":0}`+"\n")
		trefoil(t, with(door, "count")...).mustCode(t, done).mustPrint(t, "10\n")
	})
}

// A malformed statement anywhere keeps the whole command from changing anything.
func TestAddIsChecked(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		var text strings.Builder
		for i := range 25_000 {
			fmt.Fprintf(&text, "<http://e.x/s> <http://e.x/n> \"%d\" .\n", i)
		}
		good := file(t, "good.nt", text.String())
		bad := file(t, "bad.nt", text.String()+"<http://e.x/s> <http://e.x/n> 5 .\n")
		for _, command := range []string{"add", "delete"} {
			out := trefoil(t, with(door, command, good, bad)...).mustCode(t, failed)
			if !strings.HasPrefix(out.stderr, bad+":25001:31:") {
				t.Errorf("stderr: %s", out.stderr)
			}
			trefoil(t, with(door, "count")...).mustPrint(t, "10\n")
		}
		trefoil(t, with(door, "add", good)...).mustCode(t, done).mustSay(t, "added 25,000 triples")
		trefoilWith(t, strings.NewReader(text.String()), with(door, "delete", "-")...).mustCode(t, done).mustSay(t, "deleted 25,000 triples")
		trefoil(t, with(door, "count")...).mustPrint(t, "10\n")
		trefoil(t, with(door, "add")...).mustCode(t, usage)
		trefoil(t, with(door, "delete")...).mustCode(t, usage)
		trefoil(t, with(door, "delete", "--pattern", "? ? ?", good)...).mustCode(t, usage)
	})
}

func TestBackupRestore(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		dir := t.TempDir()
		path := filepath.Join(dir, "backup.tar")
		trefoil(t, with(door, "backup", path)...).mustCode(t, done)
		trefoil(t, with(door, "backup", path)...).mustCode(t, failed).mustSay(t, "--force")
		trefoil(t, with(door, "backup", "--force", path)...).mustCode(t, done)
		piped := trefoil(t, with(door, "backup", "-")...).mustCode(t, done)

		restored := filepath.Join(dir, "restored")
		trefoil(t, "restore", "--data", restored, path).mustCode(t, done)
		trefoil(t, "restore", "--data", restored, path).mustCode(t, failed)
		again := filepath.Join(dir, "again")
		trefoilWith(t, strings.NewReader(piped.stdout), "restore", "--data", again, "-").mustCode(t, done)
		want := trefoil(t, with(door, "dump")...).mustCode(t, done).stdout
		for _, data := range []string{restored, again} {
			trefoil(t, "check", "--data", data).mustCode(t, done)
			trefoil(t, "dump", "--data", data).mustCode(t, done).mustPrint(t, want)
		}

		half := filepath.Join(dir, "half")
		trefoilWith(t, strings.NewReader(piped.stdout[:len(piped.stdout)/2]), "restore", "--data", half, "-").mustCode(t, failed)
		if out := trefoil(t, "count", "--data", half); out.code == done {
			t.Errorf("half a backup became a store: %s", out.stdout)
		}
		if names, err := filepath.Glob(filepath.Join(dir, "*.partial")); err != nil || len(names) > 0 {
			t.Errorf("left behind: %q, %v", names, err)
		}
	})
}

func TestStatus(t *testing.T) {
	eachDoor(t, func(t *testing.T, door ...string) {
		out := trefoil(t, with(door, "status")...).mustCode(t, done)
		for _, word := range []string{"version", "epoch", "member", "segments", "triples", "rebuilding", "lost"} {
			if !strings.Contains(out.stdout, word) {
				t.Errorf("status does not tell the %s:\n%s", word, out.stdout)
			}
		}
	})
}

func TestNoStore(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, args := range [][]string{
		{"match"}, {"count"}, {"range", "--order", "spo"}, {"dump"}, {"status"}, {"check"}, {"backup", "-"}, {"serve", "--read-only", "--listen", "127.0.0.1:0"},
	} {
		trefoil(t, append(args, "--data", missing)...).mustCode(t, failed).mustSay(t, missing)
		if _, err := os.Stat(missing); err == nil {
			t.Fatalf("%s made the directory", args[0])
		}
	}
	foreign := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "thesis.txt"), []byte("years of work"), 0o666))
	for _, args := range [][]string{{"count"}, {"add", file(t, "p.nq", people)}, {"load", file(t, "p.nq", people)}, {"serve", "--listen", "127.0.0.1:0"}} {
		trefoil(t, append(args, "--data", foreign)...).mustCode(t, failed).mustSay(t, "VERSION")
	}
	if names, err := os.ReadDir(foreign); err != nil || len(names) > 2 { // a lock may be left
		t.Errorf("a foreign directory was changed: %v %v", names, err)
	}
}

func TestNoServer(t *testing.T) {
	// A port that was free a moment ago.
	s := serve(t, "--data", filepath.Join(t.TempDir(), "store"))
	s.stop(t)
	for _, args := range [][]string{{"match"}, {"check"}, {"add", file(t, "p.nq", people)}} {
		trefoil(t, append(args, "--to", s.url)...).mustCode(t, failed).mustSay(t, "trefoil serve")
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"no-such-command"}, {"match", "--no-such-flag"}, {"match", "--data", "a", "--to", "http://127.0.0.1:1"},
		{"match", "--limit", "-1"}, {"match", "--limit", "many"}, {"load", "--data", "d"},
		{"range", "--data", "d", "--order", "spo", "--ge", "5"}, {"range", "--data", "d", "--order", "pos", "--starts", `"A`},
		{"load", "--data", "d", "--memory", "lots", "x.nt"}, {"load", "--data", "d", "--memory", "1KiB", "x.nt"},
		{"load", "--data", "d", "--rejects", "r", "x.nt"}, {"load", "--data", "d", "--graph", "no iri", "x.nt"},
		{"load", "--to", "http://127.0.0.1:1", "--resume", "x.nt"}, {"check", "--data", "d", "--to", "http://127.0.0.1:1"}, {"restore", "x.tar"}, {"serve"},
		{"serve", "--data", "d", "--listen", "0.0.0.0:0"}, {"generate", "--kind", "nonsense"}, {"generate", "--triples", "0"},
	} {
		out := trefoil(t, args...)
		if out.code != usage || out.stdout != "" || out.stderr == "" {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, out.code, out.stdout, out.stderr)
		}
	}
	if _, err := os.Stat("d"); err == nil {
		t.Error("wrong usage made a data directory")
	}
	for _, args := range [][]string{{"--help"}, {"load", "--help"}, {"range", "-h"}} {
		if out := trefoil(t, args...).mustCode(t, done); !strings.Contains(out.stdout, "Usage: trefoil") {
			t.Errorf("%q: %s", args, out.stdout)
		}
	}
	if out := trefoil(t, "version").mustCode(t, done); !strings.HasPrefix(out.stdout, "trefoil ") {
		t.Errorf("version: %s", out.stdout)
	}
}

// short makes test expectations readable: the last parts of IRIs, and values.
func short(lines []string) []string {
	var all []string
	for _, line := range lines {
		line = strings.ReplaceAll(strings.TrimSuffix(line, " ."), "<http://e.x/", "")
		var words []string
		for _, word := range strings.Fields(line) {
			word, _, _ = strings.Cut(word, "^^")
			word, _, _ = strings.Cut(word, "@")
			words = append(words, strings.Trim(word, `_:<>"`))
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}
