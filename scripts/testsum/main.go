// Testsum summarizes the output of go test -json.

// Testsum reads the output of go test -json and prints a line for each package,
// the output of failed tests, and the reasons of skipped ones. The last lines
// name the failed tests and those that did not end, and then count: "N passed, N
// failed, N skipped". It exits 1 if a test failed or none ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is a line of go test -json (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build's events
	Test       string
	Output     string
	Elapsed    float64
}

// summary gathers the events.
type summary struct {
	passed, failed, skipped int
	broken                  map[string]bool             // packages with a failed test
	running                 map[string]bool             // by package and test
	output                  map[string]*strings.Builder // by package and test, until it ends
	failures                []string                    // a line each
	out                     io.Writer
}

func main() {
	s := summary{
		broken:  make(map[string]bool),
		running: make(map[string]bool),
		output:  make(map[string]*strings.Builder),
		out:     os.Stdout,
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		s.line(in.Bytes())
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	for _, f := range s.failures {
		fmt.Fprintln(s.out, f)
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 || s.passed == 0 {
		os.Exit(1)
	}
}

func (s *summary) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		fmt.Fprintf(s.out, "%s\n", line) // the go command itself speaks
		return
	}
	key := e.Package + e.ImportPath + " " + e.Test
	switch e.Action {
	case "run":
		s.running[key] = true
	case "output", "build-output":
		if s.output[key] == nil {
			s.output[key] = new(strings.Builder)
		}
		s.output[key].WriteString(e.Output)
	case "pass", "fail", "skip", "build-fail":
		s.end(e, s.output[key])
		delete(s.output, key)
		delete(s.running, key)
	}
}

// unfinished prints the output of a package's tests that did not end: a panic and a
// timeout are in it.
func (s *summary) unfinished(name string) {
	for key := range s.running {
		if strings.HasPrefix(key, name+" ") {
			s.failures = append(s.failures, "did not end: "+key)
			delete(s.running, key)
		}
	}
	for key, output := range s.output {
		if strings.HasPrefix(key, name+" ") && !strings.HasSuffix(key, " ") {
			fmt.Fprint(s.out, output.String())
			delete(s.output, key)
		}
	}
}

// end reports a test or package that has ended.
func (s *summary) end(e event, output *strings.Builder) {
	text := ""
	if output != nil {
		text = output.String()
	}
	// The package's event comes after those of its tests.
	switch {
	// A package that does not compile has no tests, so it is one failure.
	case e.Action == "build-fail":
		s.failed++
		s.failures = append(s.failures, "does not compile: "+e.ImportPath)
		fmt.Fprint(s.out, text)
	case e.Test == "":
		if e.Action != "skip" { // a package without tests
			fmt.Fprintf(s.out, "%-4s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
		}
		if e.Action == "fail" {
			s.unfinished(e.Package)
			fmt.Fprint(s.out, text)
			if !s.broken[e.Package] {
				s.failed++ // a panic or a timeout, which belongs to no test
			}
		}
	// Single tests. Output is shown only if they are skipped or fail.
	case e.Action == "pass":
		s.passed++
	case e.Action == "skip":
		s.skipped++
		fmt.Fprint(s.out, text)
	case e.Action == "fail":
		s.failed++
		s.broken[e.Package] = true
		s.failures = append(s.failures, "failed: "+e.Package+" "+e.Test)
		fmt.Fprint(s.out, text)
	}
}
