// The pages of docs/api against the endpoints.

package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/sparql"
	"github.com/trefoildb/trefoil/links/linkstest"
)

// docsFolder has the pages about the endpoints.
const docsFolder = "../../docs/api/"

// docsPage returns the text of a page.
func docsPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(docsFolder + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// docsPages returns the names of the pages in the order of the table of README.md, which must have all.
func docsPages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md"}
	for _, found := range regexp.MustCompile(`(?m)^\| \[([a-z]+\.md)\]`).FindAllStringSubmatch(docsPage(t, "README.md"), -1) {
		names = append(names, found[1])
	}
	files, err := os.ReadDir(docsFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(names, file.Name()) {
			t.Errorf("the table of docs/api/README.md does not have %s", file.Name())
		}
	}
	return names
}

// example is a command of a page and the answer that is shown.
type example struct {
	page   string
	line   int
	args   []string // of curl
	answer string
}

// TestDocs runs the examples of docs/api, page after page: with curl, where there is one, and
// with an interpreter of the few flags that they use.
func TestDocs(t *testing.T) {
	var examples []example
	for _, page := range docsPages(t) {
		examples = append(examples, parseExamples(t, page, docsPage(t, page))...)
	}
	if len(examples) < 91 {
		t.Fatalf("%d examples", len(examples))
	}
	for name, run := range map[string]func(*testing.T, *testServer, []string) string{"curl": realCurl, "interpreter": ownCurl} {
		t.Run(name, func(t *testing.T) {
			s := serveFunctions(t, Options{Links: linkstest.New(), Subscriptions: newRegistry(newStore(t))})
			for _, e := range examples {
				args := make([]string, len(e.args))
				for i, arg := range e.args {
					args[i] = strings.ReplaceAll(arg, "http://127.0.0.1:7333", s.url)
					if name, ok := strings.CutSuffix(arg, ".wasm"); ok {
						args[i] = "@../functions/sandbox/testdata/" + name[1:] + ".wasm"
					}
				}
				got := strings.TrimSpace(strings.ReplaceAll(run(t, s, args), "\r\n", "\n"))
				if !matches(strings.TrimSpace(e.answer), got) {
					t.Errorf("docs/api/%s:%d: curl %q answers\n%s\nbut shown is\n%s", e.page, e.line, e.args, got, e.answer)
				}
			}
		})
	}
}

// matches reports whether got is what is shown, where "..." is anything.
func matches(shown, got string) bool {
	parts := strings.Split(shown, "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString(got)
}

// parseExamples finds "$ curl" commands in console blocks. A quote may span lines.
func parseExamples(t *testing.T, page, text string) (all []example) {
	inside, quoted := false, false
	var command string
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !inside:
			inside = line == "```console"
		case quoted:
			command += "\n" + line
		case line == "```":
			inside = false
		case strings.HasPrefix(line, "$ "):
			command = line[2:]
			all = append(all, example{page: page, line: i + 1})
		default:
			all[len(all)-1].answer += line + "\n"
			continue
		}
		if !inside || command == "" {
			continue
		}
		if quoted = strings.Count(command, "'")%2 == 1; quoted {
			continue
		}
		words := splitWords(command)
		if words[0] != "curl" {
			t.Fatalf("docs/api/%s:%d: %s is not curl", page, i+1, words[0])
		}
		all[len(all)-1].args, command = words[1:], ""
	}
	return all
}

// splitWords splits a command line with single quotes.
func splitWords(line string) (words []string) {
	word, started := "", false
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			word, started = word+part, true
			continue
		}
		for j, piece := range strings.Split(part, " ") {
			if j > 0 && started {
				words, word, started = append(words, word), "", false
			}
			if piece != "" {
				word, started = word+piece, true
			}
		}
	}
	if started {
		words = append(words, word)
	}
	return words
}

func realCurl(t *testing.T, _ *testServer, args []string) string {
	path, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl; the interpreter runs the same examples")
	}
	var answer, trouble bytes.Buffer
	cmd := exec.Command(path, append([]string{"-sS", "--noproxy", "*"}, args...)...)
	cmd.Stdout, cmd.Stderr = &answer, &trouble
	if err := cmd.Run(); err != nil {
		t.Fatalf("curl %q: %v %s", args, err, &trouble)
	}
	return answer.String()
}

// ownCurl does what curl does with the flags that the examples use.
func ownCurl(t *testing.T, s *testServer, args []string) string {
	var method, target, data string
	var parameters []string
	var show, query bool
	header := http.Header{}
	for i := 0; i < len(args); i++ {
		next := func() string { i++; return args[i] }
		switch args[i] {
		case "-i":
			show = true
		case "-I":
			show, method = true, http.MethodHead
		case "-G":
			query = true
		case "-X":
			method = next()
		case "-H":
			name, value, _ := strings.Cut(next(), ": ")
			header.Add(name, value)
		case "-d", "--data-urlencode":
			encode := args[i] == "--data-urlencode"
			name, value, _ := strings.Cut(next(), "=")
			if encode {
				value = url.QueryEscape(value)
			}
			data = strings.TrimPrefix(data+"&"+name+"="+value, "&")
		case "--url-query":
			name, value, _ := strings.Cut(next(), "=")
			parameters = append(parameters, name+"="+url.QueryEscape(value))
		case "--data-binary":
			data = next()
			if strings.HasPrefix(data, "@") {
				file, err := os.ReadFile(data[1:])
				if err != nil {
					t.Fatal(err)
				}
				data = string(file)
			}
		default:
			if target != "" || strings.HasPrefix(args[i], "-") {
				t.Fatalf("curl %s: the interpreter does not know it", args[i])
			}
			target = args[i]
		}
	}
	if len(parameters) > 0 {
		target += "?" + strings.Join(parameters, "&")
	}
	var body io.Reader
	switch {
	case query:
		target += "?" + data
	case data != "":
		body = strings.NewReader(data)
		if method == "" {
			method = http.MethodPost
		}
	}
	r, err := http.NewRequest(method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	if !query && header.Get("Content-Type") == "" && data != "" {
		header.Set("Content-Type", sparql.TypeForm) // as curl does
	}
	r.Header = header
	got, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	var answer bytes.Buffer
	if show {
		fmt.Fprintf(&answer, "%s %s\r\n", got.Proto, got.Status)
		var lines []string
		for name, values := range got.Header {
			lines = append(lines, name+": "+strings.Join(values, ", ")+"\r\n")
		}
		slices.Sort(lines)
		answer.WriteString(strings.Join(lines, "") + "\r\n")
	}
	if _, err := answer.ReadFrom(got.Body); err != nil {
		t.Fatal(err)
	}
	return answer.String()
}
