// The formats, their names and their detection.

package linkfile

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// Format is a format of link files. The zero Format is none.
type Format uint8

// The formats; the package comment draws them.
const (
	Edges Format = iota + 1
	Lists
	Pages
	Hosts
	NTriples
	NQuads
	WAT

	lastFormat = WAT
)

var formatNames = [...]string{Edges: "edges", Lists: "lists", Pages: "pages", Hosts: "hosts", NTriples: "nt", NQuads: "nq", WAT: "wat"}

// String returns the format's name, as [ByName] accepts it.
func (f Format) String() string {
	if f == 0 || f > lastFormat {
		return fmt.Sprintf("format %d", uint8(f))
	}
	return formatNames[f]
}

// Names lists the formats for a message.
func Names() string {
	return strings.Join(formatNames[1:lastFormat], ", ") + " or " + formatNames[lastFormat]
}

// ByName returns the format of a name, in letters of either case.
func ByName(name string) (Format, error) {
	if i := slices.Index(formatNames[1:], strings.ToLower(name)); i >= 0 {
		return Format(i + 1), nil
	}
	return 0, fmt.Errorf("there is no link format %q; use %s", name, Names())
}

// ByFile returns the format for the ending of a file's name. It ignores case, and .gz, .bz2, .zst
// or .xz at the end.
func ByFile(name string) (Format, bool) {
	name = strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	for _, compressed := range []string{".gz", ".bz2", ".zst", ".xz"} {
		if rest, ok := strings.CutSuffix(name, compressed); ok {
			name = rest
			break
		}
	}
	switch ending := strings.TrimPrefix(path.Ext(name), "."); ending {
	case "ntriples":
		return NTriples, true
	case "nquads":
		return NQuads, true
	case "hosts", "":
		return 0, false
	default:
		f, err := ByName(ending)
		return f, err == nil
	}
}

// sniffBytes is how much of a file [Detect] should get.
const sniffBytes = 64 << 10

// Detect returns a file's format. It uses the comment in the first line, the name or the first
// bytes, as the package comment says. whole must be true if head is all of the file. An empty
// file is one of edges. If the format is unclear, the error is [ErrFormat].
func Detect(name string, head []byte, whole bool) (Format, error) {
	// 1. The file's own statement comes first, then its name, then the magic of WARC.
	head = bytes.TrimPrefix(head, byteOrderMark)
	if f, ok := declared(head); ok {
		return f, nil
	}
	if f, ok := ByFile(name); ok {
		return f, nil
	}
	if bytes.HasPrefix(head, []byte("WARC/")) {
		return WAT, nil
	}
	// 2. Look for a line with only one possible format. The last line may be cut off, so it
	// counts only if head is the whole file.
	two := false
	for rest := head; len(rest) > 0; {
		var line []byte
		var ended bool
		if line, rest, ended = bytes.Cut(rest, []byte("\n")); !ended && !whole {
			break
		}
		if line = trimEnd(line); meansNothing(line) {
			continue
		}
		switch f := lineFormat(line); {
		case f != 0:
			return f, nil
		case bytes.Count(line, []byte("\t")) != 1:
			return 0, fmt.Errorf("%s: %w: its lines may be lists to be added or whole pages; name it: %s", shown(name), ErrFormat, Names())
		}
		two = true
	}
	// 3. If all lines have two columns, the file is one of edges. So is an empty file.
	if two || whole && len(bytes.TrimSpace(withoutComments(head))) == 0 {
		return Edges, nil
	}
	return 0, fmt.Errorf("%s: %w; name it: %s", shown(name), ErrFormat, Names())
}

func shown(name string) string {
	if name == "" {
		return "link file"
	}
	return name
}

// declared returns the format named by a comment in the first line.
func declared(head []byte) (Format, bool) {
	line, _, _ := bytes.Cut(head[:min(len(head), 256)], []byte("\n"))
	comment, ok := bytes.CutPrefix(line, []byte("#"))
	if !ok {
		return 0, false
	}
	name, ok := bytes.CutPrefix(bytes.TrimSpace(comment), []byte("links:"))
	if !ok {
		return 0, false
	}
	f, err := ByName(string(bytes.TrimSpace(name)))
	return f, err == nil
}

// lineFormat returns the format of a line. It returns 0 if the line may be of several formats.
func lineFormat(line []byte) Format {
	if line[0] == '<' || line[0] == '_' {
		if triple.NewScanner(bytes.NewReader(line), triple.ScanOptions{Quads: true}).Scan() {
			return NQuads
		}
		return 0
	}
	if isHostLine(line) {
		return Hosts
	}
	if fields := bytes.SplitN(line, []byte("\t"), 4); len(fields) > 2 && isNumber(trimSpaces(fields[2])) {
		return Edges
	}
	return 0
}

// isHostLine reports whether a line is year|host|host TAB count.
func isHostLine(line []byte) bool {
	fields := bytes.Split(line, []byte("|"))
	if len(fields) != 3 || len(fields[0]) != 4 {
		return false
	}
	for _, c := range fields[0] {
		if c < '0' || c > '9' {
			return false
		}
	}
	_, count, ok := bytes.Cut(fields[2], []byte("\t"))
	return ok && isNumber(count)
}

// withoutComments returns head without the lines that begin with '#'.
func withoutComments(head []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(head) {
		if line[0] != '#' {
			kept = append(kept, line...)
		}
	}
	return kept
}
