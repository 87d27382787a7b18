// Tests of the commands annotate, annotations and convert, and of annotations in dumps.

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// mustRun runs a command that must succeed.
func mustRun(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	code, out, messages := run(t, stdin, args...)
	if code != exitDone {
		t.Fatalf("%v: %d %s", args, code, messages)
	}
	return out
}

// TestAnnotateCommands runs the commands on a directory and on a server.
func TestAnnotateCommands(t *testing.T) {
	seed.Slow(t)
	const quad = "<x:s> <x:p> \"o\" .\n"
	dir := t.TempDir()
	for _, name := range []string{"alone", "served"} {
		mustRun(t, quad, "add", "--data", filepath.Join(dir, name), "--from", "nq", "-")
	}
	url, stop := serveFor(t, filepath.Join(dir, "served"))
	defer stop()
	image := filepath.Join(dir, "image")
	content := strings.Repeat("\xff\x00", triple.MaxAnnotationContent/2)
	if err := os.WriteFile(image, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`reviews  text/plain; charset=utf-8  4 bytes  version (\S+)`)
	for name, to := range map[string][]string{"directory": {"--data", filepath.Join(dir, "alone")}, "server": {"--to", url}} {
		annotate := func(args ...string) (int, string) {
			code, _, messages := run(t, "", append(append([]string{"annotate"}, to...), args...)...)
			return code, messages
		}
		// 1. Set, list, and compare.
		if code, messages := annotate("<x:s> <x:p> \"o\"", "--app", "reviews", "--text", "good", "--new"); code != exitDone {
			t.Fatal(name, messages)
		}
		found := version.FindStringSubmatch(mustRun(t, "", append([]string{"annotations"}, to...)...))
		if found == nil {
			t.Fatalf("%s: no version in the list", name)
		}
		if code, messages := annotate("<x:s> <x:p> \"o\"", "--app", "reviews", "--text", "bad", "--new"); code != exitFailed || !strings.Contains(messages, "another version") {
			t.Errorf("%s: %d %s", name, code, messages)
		}
		for i, want := range []int{exitDone, exitFailed} {
			if code, messages := annotate("<x:s> <x:p> \"o\"", "--app", "reviews", "--file", image, "--type", "image/png", "--match", found[1]); code != want {
				t.Errorf("%s: try %d: %d %s", name, i, code, messages)
			}
		}
		// 2. A list as JSON is a batch.
		batch := mustRun(t, "", append([]string{"annotations", "--json"}, to...)...)
		batch += `{"s":"<x:s>","p":"<x:p>","o":"\"o\"","app":"scores","type":"text/plain","text":"7"}` + "\n"
		mustRun(t, batch, append([]string{"annotate", "--batch", "-"}, to...)...)
		dump := mustRun(t, "", append([]string{"dump", "--format", "ndjson"}, to...)...)
		if !strings.Contains(dump, `"app":"scores","type":"text/plain","text":"7"`) || !strings.Contains(dump, `"image/png","data":"/wD/`) {
			t.Errorf("%s: %.300s", name, dump)
		}
		if code, messages := annotate("<x:s> <x:p> \"o\"", "--app", "scores", "--remove"); code != exitDone || !strings.Contains(messages, "removed 1") {
			t.Errorf("%s: %d %s", name, code, messages)
		}
		if list := mustRun(t, "", append([]string{"annotations", "--app", "scores"}, to...)...); list != "" {
			t.Errorf("%s: %s", name, list)
		}
		// 3. What is listed can be read again, also if it is long.
		for i := range 13 {
			large := filepath.Join(t.TempDir(), "large")
			if err := os.WriteFile(large, bytes.Repeat([]byte{byte(i)}, triple.MaxAnnotationContent), 0o644); err != nil {
				t.Fatal(err)
			}
			if code, messages := annotate("<x:s> <x:p> \"o\"", "--app", fmt.Sprint("large", i), "--file", large); code != exitDone {
				t.Fatal(messages)
			}
		}
		mustRun(t, mustRun(t, "", append([]string{"annotations", "--json"}, to...)...), append([]string{"annotate", "--batch", "-"}, to...)...)
		code, _, messages := run(t, "\n"+strings.Repeat("x", 16<<20+1), append([]string{"annotate", "--batch", "-"}, to...)...)
		if code == exitDone || !strings.Contains(messages, "line 2 has more than 16777216 bytes") {
			t.Errorf("%s: a long line: %d %.300s", name, code, messages)
		}
		// 4. What cannot be.
		for words, args := range map[string][]string{
			"no such triple": {"<x:s> <x:p> \"other\"", "--app", "a", "--text", ""},
			"one triple":     {"<x:s> ? ?", "--app", "a", "--text", ""},
			"--app":          {"<x:s> <x:p> 1", "--text", ""},
			"give one of":    {"<x:s> <x:p> 1", "--app", "a"},
			"media type":     {"<x:s> <x:p> \"o\"", "--app", "a", "--text", "", "--type", "nonsense"},
			"leave out":      {"<x:s> <x:p> 1", "--batch", "-"},
			"match is empty": {"<x:s> <x:p> \"o\"", "--app", "a", "--text", "", "--match", ""},
		} {
			if code, messages := annotate(args...); code == exitDone || !strings.Contains(messages, words) || strings.Contains(messages, "HTTP status") {
				t.Errorf("%s: %v: %d %s", name, args, code, messages)
			}
		}
	}
}

// TestConvertAnnotated: convert keeps annotations, and says how many it leaves out.
func TestConvertAnnotated(t *testing.T) {
	const document = triple.AnnotationsHeader + "\n<x:s> <x:p> <x:o> . #@ a=AQID b=\n<x:s> <x:p> <x:p> .\n"
	file := filepath.Join(t.TempDir(), "in.nq")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]string{"a file": mustRun(t, "", "convert", file), "standard input": mustRun(t, document, "convert", "--from", "nq", "-")} {
		if got != document {
			t.Errorf("%s: %q", what, got)
		}
	}
	code, out, messages := run(t, "", "convert", "--no-annotations", file)
	if code != exitDone || strings.Contains(out, "#@") || !strings.Contains(messages, "2 annotations left out") {
		t.Errorf("%d %q %q", code, out, messages)
	}
}
