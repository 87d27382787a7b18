// The command convert.

package cli

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestConvert(t *testing.T) {
	const turtle = `@prefix ex: <http://example.org/> .
ex:ann ex:name "Ann", "Ännchen"@de ; ex:age 41 ; ex:knows [ ex:name "Bob" ] .
`
	const nquads = `_:genid_0 <http://example.org/name> "Bob" .
<http://example.org/ann> <http://example.org/age> "41"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://example.org/ann> <http://example.org/knows> _:genid_0 .
<http://example.org/ann> <http://example.org/name> "Ann" .
<http://example.org/ann> <http://example.org/name> "Ännchen"@de .
`
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	zip.Write([]byte(turtle))
	zip.Close()

	for name, out := range map[string]outcome{
		"a file":          trefoil(t, "convert", file(t, "people.ttl", turtle)),
		"standard input":  trefoilWith(t, strings.NewReader(turtle), "convert", "--from", "turtle", "-"),
		"told by content": trefoilWith(t, strings.NewReader(turtle), "convert", "-"),
		"gzip":            trefoil(t, "convert", "--from", "ttl", file(t, "people.data", zipped.String())),
		"to N-Triples":    trefoil(t, "convert", "--format", "nt", file(t, "people.ttl", turtle)),
	} {
		t.Run(name, func(t *testing.T) {
			lines := out.mustCode(t, done).lines()
			slices.Sort(lines)
			if got, want := strings.Join(lines, "\n")+"\n", sorted(nquads); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if out.stderr != "" {
				t.Errorf("stderr: %s", out.stderr)
			}
		})
	}
}

func TestConvertKeepsOrderAndLabels(t *testing.T) {
	const text = "_:x <http://example.org/p> \"2\" .\n_:x <http://example.org/p> \"1\" <http://example.org/g> .\n"
	trefoil(t, "convert", file(t, "a.nq", text)).mustCode(t, done).mustPrint(t, text)
}

func TestConvertKeepsDocumentsApart(t *testing.T) {
	const text = "_:x <http://example.org/p> _:x .\n"
	dir := t.TempDir()
	for _, name := range []string{"a.nt", "b.nt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	for _, args := range [][]string{{dir}, {filepath.Join(dir, "*.nt")}, {filepath.Join(dir, "a.nt"), filepath.Join(dir, "b.nt")}} {
		lines := trefoil(t, append([]string{"convert"}, args...)...).mustCode(t, done).lines()
		if len(lines) != 2 || lines[0] == lines[1] {
			t.Errorf("%s: two documents' blank nodes met: %q", args, lines)
		}
	}
}

// Each mistake is a line of the form that editors jump to: file:line:column.
func TestConvertSaysWhere(t *testing.T) {
	for _, test := range []struct{ name, text, place string }{
		{"a.nt", "<http://example.org/s> <http://example.org/p> \"a\" .\n<http://example.org/s> <http://exa mple.org/p> \"a\" .\n", ":2:"},
		{"a.ttl", "@prefix ex: <http://example.org/> .\n\nex:a ex:b nope:c .\n", ":3:11:"},
		{"a.trig", "<http://example.org/g> { <http://example.org/s> a }", ":1:"},
		{"a.rdf", "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n<broken></rdf:RDF>", ":"},
		{"a.jsonld", `{"@id": "http://example.org/s", `, ":"},
		{"nul.nt", "<http://example.org/s> <http://example.org/p> \"a\" .\n\x00\x00\x00\x00\n", ":2:1:"},
		{"utf8.nt", "<http://example.org/s> <http://example.org/p> \"\xff\" .\n", ":1:"},
		{"surrogate.nt", "<http://example.org/s> <http://example.org/p> \"\\uD800\" .\n", ":1:"},
		{"relative.ttl", "<a> <http://example.org/p> 1 .\n", ":1:1:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := file(t, test.name, test.text)
			out := trefoil(t, "convert", path).mustCode(t, failed)
			if !strings.HasPrefix(out.stderr, path+test.place) {
				t.Errorf("stderr: %s\nwant it to begin with %s", out.stderr, path+test.place)
			}
		})
	}
}

func TestConvertBase(t *testing.T) {
	path := file(t, "a.ttl", "<a> <#p> <../b> .\n")
	trefoil(t, "convert", "--base", "http://example.org/dir/doc", path).mustCode(t, done).
		mustPrint(t, "<http://example.org/dir/a> <http://example.org/dir/doc#p> <http://example.org/b> .\n")
	trefoil(t, "convert", "--base", "dir", path).mustCode(t, usage).mustSay(t, "--base")
}

func TestConvertNamedGraphs(t *testing.T) {
	path := file(t, "a.nq", "<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n<http://e.x/s> <http://e.x/p> <http://e.x/o> <http://e.x/g> .\n")
	trefoil(t, "convert", "--format", "nt", path).mustCode(t, failed).
		mustPrint(t, "<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n").
		mustSay(t, path, "statement 2", "<http://e.x/g>", "--format nq")
}

func TestConvertEmpty(t *testing.T) {
	trefoil(t, "convert", file(t, "empty.nt", "")).mustCode(t, done).mustPrint(t, "")
	trefoil(t, "convert", file(t, "comment.ttl", "# nothing\n")).mustCode(t, done).mustPrint(t, "")
	trefoil(t, "convert", file(t, "unknown", "")).mustCode(t, failed).mustSay(t, "--from")
}

func TestConvertMissing(t *testing.T) {
	trefoil(t, "convert", "no-such-file.nt").mustCode(t, failed).mustSay(t, "no-such-file.nt")
	trefoil(t, "convert", "no-such-*.nt").mustCode(t, failed).mustSay(t, "matches nothing")
	trefoil(t, "convert", t.TempDir()).mustCode(t, failed).mustSay(t, "no file")
	trefoil(t, "convert").mustCode(t, usage)
	trefoil(t, "convert", "--from", "n3", "-").mustCode(t, usage).mustSay(t, "n3")
	trefoil(t, "convert", "--format", "n3", "-").mustCode(t, usage)
}

// A truncated file must not pass for a short one.
func TestConvertTruncated(t *testing.T) {
	text := strings.Repeat("<http://example.org/s> <http://example.org/p> \"a\" .\n", 20_000)
	path := file(t, "a.nt", text)
	for _, tool := range [][]string{{"gzip", ".gz"}, {"bzip2", ".bz2"}, {"zstd", ".zst"}, {"xz", ".xz"}} {
		t.Run(tool[0], func(t *testing.T) {
			whole := compress(t, path, tool[0])
			trefoilWith(t, bytes.NewReader(whole), "convert", "-").mustCode(t, done)
			for _, keep := range []int{len(whole) / 2, len(whole) - 1} {
				trefoilWith(t, bytes.NewReader(whole[:keep]), "convert", "--from", "nt", "-").
					mustCode(t, failed).mustSay(t, "truncated")
			}
		})
	}
}

// compress returns a file as the tool compresses it.
func compress(t *testing.T, path, tool string) []byte {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("no %s here", tool)
	}
	out, err := exec.Command(tool, "-c", path).Output()
	require.NoError(t, err)
	return out
}

// One line without an end must not take memory without an end.
func TestConvertHugeLine(t *testing.T) {
	line := func() *endless { return &endless{unit: []byte("aaaaaaaaaaaaaaaa"), left: 1 << 30} }
	trefoilLimited(t, 600<<20, line(), "convert", "--from", "nt", "-").mustCode(t, failed)
	trefoilLimited(t, 200<<20, line(), "convert", "--from", "ttl", "--max-line", "1MiB", "-").mustCode(t, failed)
}

func TestConvertSameGraphInAllSyntaxes(t *testing.T) {
	dir := shared(t, "schemaorg")
	want := ""
	for _, name := range []string{"nt", "nq", "ttl", "rdf"} {
		lines := trefoil(t, "convert", filepath.Join(dir, "schemaorg-all-https."+name)).mustCode(t, done).lines()
		if len(lines) != 18_061 {
			t.Errorf("%s: %d triples, want 18,061", name, len(lines))
		}
		for i, line := range lines { // the N-Quads file names a graph
			lines[i] = strings.Replace(line, " <https://schema.org/30.0> .", " .", 1)
		}
		slices.Sort(lines)
		text := strings.Join(lines, "\n")
		if want == "" {
			want = text
		}
		if text != want {
			t.Errorf("%s holds another graph than nt", name)
		}
	}
}

// sorted sorts the lines of a text.
func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}
