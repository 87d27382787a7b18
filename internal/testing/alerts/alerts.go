// Package alerts evaluates the shipped alert rules over scrapes that a test makes of real servers, in virtual time.
//
// The rules are read, evaluated and their texts expanded by the code of Prometheus. It is a program of a module of its own, in
// the folder prometheus, because it needs more packages than all of trefoil:
//
//	test -> Watch: answers of /metrics with instances and times
//	     -> Alerts: go build prometheus; rules and scrapes to its standard input; what fired from its output
package alerts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	interval       = 30 * time.Second // between two evaluations of the rules
	scrapeInterval = 30 * time.Second // between two scrapes of an instance
)

// Prometheus collects scrapes. It is used by one goroutine.
type Prometheus struct {
	root    string
	start   time.Time
	scrapes []scrape
}

// scrape and alert are those of the program.
type scrape struct {
	Instance string
	Time     int64
	Text     string
	Failed   bool
}

type alert struct {
	Name                 string
	Labels               map[string]string
	Summary, Description string
	Fired, Resolved      int64
}

// Alert is one alert that fired.
type Alert struct {
	Name                 string
	Labels               map[string]string
	Summary, Description string
	// Fired and Resolved are times since the first scrape. Resolved is 0 if the alert fires at the last one.
	Fired, Resolved time.Duration
}

// New returns a Prometheus with the rules of a repository's directory.
func New(root string) *Prometheus { return &Prometheus{root: root} }

// Watch scrapes for a time, which the clock of a bubble passes: targets returns the endpoints of each instance, nil for one
// that does not answer.
func (p *Prometheus) Watch(t testing.TB, d time.Duration, targets func() map[string]http.Handler) {
	t.Helper()
	if p.start.IsZero() {
		p.start = time.Now().Truncate(time.Millisecond) // as scrapes have it
	}
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(scrapeInterval) { // of virtual time
		all := targets()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			s := scrape{Instance: name, Time: time.Now().UnixMilli(), Failed: all[name] == nil}
			if !s.Failed {
				answer := httptest.NewRecorder()
				all[name].ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/metrics", nil))
				if s.Text = answer.Body.String(); answer.Code != http.StatusOK {
					t.Fatalf("/metrics of %s: %d %s", name, answer.Code, s.Text)
				}
			}
			p.scrapes = append(p.scrapes, s)
		}
	}
}

// Passed returns the time since the first scrape, as alerts have it.
func (p *Prometheus) Passed() time.Duration { return time.Since(p.start).Truncate(time.Millisecond) }

// Alerts returns the alerts that fired up to now, in the order of their times.
func (p *Prometheus) Alerts(t testing.TB) (fired []Alert) {
	t.Helper()
	rules, err := filepath.Abs(filepath.Join(p.root, "docs", "monitoring", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(map[string]any{"Rules": rules, "Interval": interval.Milliseconds(), "Scrapes": p.scrapes})
	if err != nil {
		t.Fatal(err)
	}
	// The program ends with its input, so a test that fails here leaves no process behind.
	var out, problems bytes.Buffer
	run := exec.Command(program(t, p.root))
	run.Stdin, run.Stdout, run.Stderr = bytes.NewReader(in), &out, &problems
	if err := run.Run(); err != nil {
		t.Fatalf("evaluate the alert rules: %v\n%s", err, problems.Bytes())
	}
	var all []alert
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		f := Alert{Name: a.Name, Labels: a.Labels, Summary: a.Summary, Description: a.Description, Fired: p.elapsedSince(a.Fired)}
		if a.Resolved != 0 {
			f.Resolved = p.elapsedSince(a.Resolved)
		}
		fired = append(fired, f)
		t.Logf("%s: %s; %s", f, f.Summary, f.Description)
	}
	return fired
}

func (p *Prometheus) elapsedSince(ms int64) time.Duration { return time.UnixMilli(ms).Sub(p.start) }

// String implements [fmt.Stringer].
func (a Alert) String() string {
	until := "the end"
	if a.Resolved != 0 {
		until = a.Resolved.String()
	}
	return fmt.Sprintf("%s %v from %s to %s", a.Name, a.Labels, a.Fired, until)
}

// MustSpan reports an error unless an alert fired within delay of its cause, and not before it, and ended within delay of its
// end; an end of 0 means that it fires at the last scrape.
func (a Alert) MustSpan(t testing.TB, cause, end, delay time.Duration) {
	t.Helper()
	if a.Fired < cause || a.Fired > cause+delay {
		t.Errorf("%s, but its cause was at %s", a, cause)
	}
	if (a.Resolved == 0) != (end == 0) || end != 0 && (a.Resolved < end || a.Resolved > end+delay) {
		t.Errorf("%s, but its cause ended at %s", a, end)
	}
}

// program builds the program of the folder prometheus, for one test. The cache of the build has it the next time.
func program(t testing.TB, root string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prometheus")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = filepath.Join(root, "internal", "testing", "alerts", "prometheus")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the evaluation of alert rules: %v\n%s", err, out)
	}
	return path
}

// Expect reports an error unless the alerts that fired are those with the names, each at least once. It returns
// those of the first name.
func Expect(t testing.TB, fired []Alert, names ...string) (first []Alert) {
	t.Helper()
	var got []string
	for _, a := range fired {
		if len(names) > 0 && a.Name == names[0] {
			first = append(first, a)
		}
		if !slices.Contains(got, a.Name) {
			got = append(got, a.Name)
		}
	}
	want := slices.Clone(names)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the alerts %v fired, want %v", strings.Join(got, ", "), strings.Join(want, ", "))
	}
	return first
}
