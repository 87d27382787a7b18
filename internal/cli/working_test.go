// Tests of the progress of long commands, and of files that dump and convert write.

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// TestOutputFile checks that dump and convert write files in the format of their names, whole or not at all.
func TestOutputFile(t *testing.T) {
	const line = "<http://ex/a> <http://ex/p> \"1\" .\n"
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	source := write(t, "in.nt", line)
	want(t, exitDone, "", "load", "--data", in("store"), source)
	for _, command := range [][]string{{"dump", "--data", in("store")}, {"convert", source}} {
		want(t, exitDone, "", append(command, "--output", in("a.nt"))...)
		want(t, exitDone, "", append(command, "-o", in("a.nq.gz"))...)
		want(t, exitDone, "", append(command, "--output", in("a.ttl.zst"))...)
		want(t, exitDone, "", append(command, "--output", in("a.jsonld"))...)
		want(t, exitDone, line, append(command, "--format", "nt")...)
		want(t, exitUsage, "--format nt is the syntax", append(command, "--output", "nt")...)
		want(t, exitUsage, ".gz or .zst only", append(command, "--output", in("a.nq.xz"))...)
		want(t, exitUsage, "there is no syntax", append(command, "--format", "n3x")...)
		for _, name := range []string{"a.nt", "a.nq.gz", "a.ttl.zst", "a.jsonld"} {
			want(t, exitDone, line, "convert", in(name))
		}
		packed, err := os.Open(in("a.nq.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gzip.NewReader(packed); err != nil {
			t.Errorf("a.nq.gz: %v", err)
		}
		packed.Close()
	}
	// A file that fails stays as it was.
	want(t, exitFailed, "cannot say", "convert", write(t, "g.nq", "<http://ex/a> <http://ex/p> \"2\" <http://ex/g> .\n"), "--output", in("a.nt"))
	if text, err := os.ReadFile(in("a.nt")); err != nil || string(text) != line {
		t.Errorf("%s %v", text, err)
	}
	if left, err := filepath.Glob(in("*.partial")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
