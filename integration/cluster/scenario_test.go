// Scenarios: machine failures as scripts, and the walker that plays them.

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// TestScenarios plays each script of testdata/scenarios in virtual time. README.md beside them
// has the language.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		variants, err := parseScenario(file, string(text))
		require.NoError(t, err)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			for _, v := range seed.Choose(t, variants) {
				if v.name == "" {
					simulate(t, 0, v.play)
					continue
				}
				t.Run(v.name, func(t *testing.T) { simulate(t, 0, v.play) })
			}
		})
	}
}

// variant is a script with values for the names that its lines "each" list.
type variant struct {
	name  string
	steps []step
}

// step is one line of a script. A block is repeated when it is parsed, so a step has none.
type step struct {
	at   string // file:line
	args []string
}

func (s step) String() string { return s.at + ": " + strings.Join(s.args, " ") }

// parseScenario returns the variants of a script, one without a name if it has no line "each". An
// error names the file and the line.
func parseScenario(file, text string) ([]variant, error) {
	// 1. Split the lines into words. Lines "each" multiply the variants.
	var lines []step
	variants := []variant{{}}
	values := []map[string]string{{}}
	for i, line := range strings.Split(text, "\n") {
		args, err := words(line)
		at := fmt.Sprintf("%s:%d", file, i+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if len(args) == 0 {
			continue
		}
		if args[0] != "each" {
			lines = append(lines, step{at, args})
			continue
		}
		names, rows, err := table(args[1:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		var more []variant
		var bound []map[string]string
		for j, v := range variants {
			for _, row := range rows {
				more = append(more, variant{name: strings.TrimPrefix(v.name+", "+strings.ReplaceAll(strings.Join(row, " "), `"`, ""), ", ")})
				bound = append(bound, bind(values[j], names, row))
			}
		}
		variants, values = more, bound
	}
	// 2. Repeat the blocks and put in the values.
	for i := range variants {
		var err error
		var rest []step
		if variants[i].steps, rest, err = expand(lines, values[i]); err != nil {
			return nil, err
		}
		if len(rest) > 0 {
			return nil, fmt.Errorf("%s: no block begins before this end", rest[0].at)
		}
	}
	return variants, nil
}

var word = regexp.MustCompile(`"[^"]*"|[^\s"]+`)

// words returns the words of a line before its comment. A text in quotes is one word, which keeps
// its first quote.
func words(line string) (args []string, err error) {
	for _, w := range word.FindAllString(line, -1) {
		if strings.HasPrefix(w, "#") {
			return args, nil
		}
		args = append(args, strings.TrimSuffix(w, `"`))
	}
	if strings.Count(line, `"`)%2 != 0 {
		return nil, fmt.Errorf("a quote is not closed")
	}
	return args, nil
}

// table reads "NAME... in VALUE...": rows of as many values as there are names.
func table(args []string) (names []string, rows [][]string, err error) {
	in := slices.Index(args, "in")
	if in < 1 || len(args) == in+1 || (len(args)-in-1)%in != 0 {
		return nil, nil, fmt.Errorf("want NAME... in VALUE..., with a value for each name")
	}
	for row := range slices.Chunk(args[in+1:], in) {
		rows = append(rows, row)
	}
	return args[:in], rows, nil
}

func bind(values map[string]string, names, row []string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, values)
	for i, name := range names {
		all[name] = row[i]
	}
	return all
}

// expand repeats the blocks of lines and replaces each $name by its value. It ends at the end of
// the block that it is in, and returns the lines after it.
func expand(lines []step, values map[string]string) (steps, rest []step, err error) {
	for len(lines) > 0 {
		s := lines[0]
		s.args = replace(s.args, values)
		lines = lines[1:]
		switch s.args[0] {
		case "end":
			return steps, append([]step{s}, lines...), nil
		case "for", "repeat":
			var names []string
			var rows [][]string
			if s.args[0] == "for" {
				names, rows, err = table(s.args[1:])
			} else if n, atoi := strconv.Atoi(strings.Join(s.args[1:], " ")); atoi == nil && n > 0 {
				rows = make([][]string, n)
			} else {
				err = fmt.Errorf("want repeat NUMBER")
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", s, err)
			}
			var after []step
			for _, row := range rows {
				var body []step
				if body, after, err = expand(lines, bind(values, names, row)); err != nil {
					return nil, nil, err
				}
				steps = append(steps, body...)
			}
			if len(after) == 0 {
				return nil, nil, fmt.Errorf("%s: the block has no end", s)
			}
			lines = after[1:]
		default:
			if err := known(s.args); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", s, err)
			}
			steps = append(steps, s)
		}
	}
	return steps, nil, nil
}

var variable = regexp.MustCompile(`\$[a-z]+`)

func replace(args []string, values map[string]string) (replaced []string) {
	for i, a := range args {
		a = variable.ReplaceAllStringFunc(a, func(name string) string { return cmp.Or(values[name[1:]], name) })
		if variable.MatchString(args[i]) && strings.HasPrefix(a, `"`) { // a value of several words
			replaced = append(replaced, strings.Fields(a[1:])...)
		} else {
			replaced = append(replaced, a)
		}
	}
	return replaced
}

// known returns an error if the verb of a command does not exist, or has too few words after it.
func known(args []string) error {
	v, ok := verbs[args[0]]
	if !ok {
		return fmt.Errorf("unknown verb %q; README.md has the verbs", args[0])
	}
	if len(args)-1 < v.least {
		return fmt.Errorf("want %s %s", args[0], v.usage)
	}
	if name := strings.Join(args, " "); variable.MatchString(name) {
		return fmt.Errorf("no value for %s", variable.FindString(name))
	}
	return nil
}

// play is a run of a script.
type play struct {
	w     *world
	named map[string]*machine
	limit time.Duration // how long wait, reach and await wait

	data     map[int]bool // numbers of the triples that the cluster must have
	retrying bool         // an add may add fewer triples than are missing, because a try before it added some
	doubtful []int        // numbers of triples whose adds were interrupted
	buried   int          // tombstones after the last delete
	links    map[int]bool // numbers of the links that the cluster must have
	chain    []archive    // the last full backup and its increments
	ids      map[*machine]trie.MachineID
	saved    map[*machine]*memdisk.FS
	apis     map[*cluster.Node]*server.API
	released func()     // releases held requests
	begun    chan error // the result of the command that began
	writer   *writer
	writes   numbers
	layout   recovery.Layout // that of the last view before a kill
}

func newPlay(w *world) *play {
	return &play{w: w, limit: waitLimit, named: map[string]*machine{}, data: map[int]bool{}, links: map[int]bool{}, ids: map[*machine]trie.MachineID{}, saved: map[*machine]*memdisk.FS{}, apis: map[*cluster.Node]*server.API{}, released: func() {}}
}

// play walks the steps. A step that fails is reported with its file and line.
func (v variant) play(t *testing.T, w *world) {
	p := newPlay(w)
	at := step{}
	defer func() {
		p.released()
		if t.Failed() {
			t.Logf("the scenario ended at %s", at)
		}
	}()
	for _, at = range v.steps {
		if err := p.do(t.Context(), at.args); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
	}
}

// do runs one command.
func (p *play) do(ctx context.Context, args []string) error {
	if err := known(args); err != nil {
		return err
	}
	return verbs[args[0]].run(p, ctx, args[1:])
}

// numbers is a range of triples, [from, to).
type numbers struct{ from, to int }

// parseNumbers reads "FROM..TO".
func parseNumbers(text string) (n numbers, err error) {
	if _, err := fmt.Sscanf(text, "%d..%d", &n.from, &n.to); err != nil || n.from >= n.to {
		return n, fmt.Errorf("want triples as FROM..TO, not %q", text)
	}
	return n, nil
}

func (n numbers) triples() []triple.Triple { return numbered(n.from, n.to) }

// triples returns the triples that the cluster must have, by their numbers.
func (p *play) triples() (all []triple.Triple) {
	for _, i := range slices.Sorted(maps.Keys(p.data)) {
		all = append(all, numbered(i, i+1)...)
	}
	return all
}

// decide reads the triples whose adds were interrupted, and expects from now on what it finds.
func (p *play) decide() error {
	if len(p.doubtful) == 0 {
		return nil
	}
	p.w.decided()
	got, err := p.w.any().contents(p.w.t.Context())
	for _, i := range p.doubtful {
		if got[numbered(i, i+1)[0].String()] {
			p.data[i] = true
		}
	}
	p.doubtful = nil
	return err
}

func (p *play) wrote(n numbers, there bool) {
	for i := n.from; i < n.to; i++ {
		if p.data[i] = there; !there {
			delete(p.data, i)
		}
	}
}

// machine returns the machine of a name: a number, a name of let, leader or any.
func (p *play) machine(name string) *machine {
	p.w.t.Helper()
	switch name {
	case "leader":
		return p.w.leader()
	case "any":
		return p.w.any()
	}
	if p.named[name] == nil {
		p.w.t.Fatalf("there is no machine %q", name)
	}
	return p.named[name]
}

// provide makes machines with empty disks, unless they exist. A number makes those below it, too.
func (p *play) provide(names ...string) {
	for _, name := range names {
		n, err := strconv.Atoi(name)
		switch {
		case p.named[name] != nil || name == "all":
		case err == nil:
			for i := len(p.w.machines); i < n; i++ {
				p.named[strconv.Itoa(i+1)] = p.w.add()
			}
		default:
			p.named[name] = p.w.add()
			p.named[strconv.Itoa(len(p.w.machines))] = p.named[name]
		}
	}
}

// list returns the machines of names, without those after "but". The machines of all, any and
// followers run, and followers have a random order.
func (p *play) list(names []string) (list []*machine) {
	var but []*machine
	if i := slices.Index(names, "but"); i >= 0 {
		names, but = names[:i], p.list(names[i+1:])
	}
	for _, name := range names {
		switch name {
		case "any":
			some := p.w.others(but...)
			list = append(list, some[p.w.random.IntN(len(some))])
		case "all":
			list = append(list, p.w.up()...)
		case "followers":
			some := p.w.others(p.w.leader())
			p.w.random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			list = append(list, some...)
		default:
			list = append(list, p.machine(name))
		}
	}
	return slices.DeleteFunc(list, func(m *machine) bool { return slices.Contains(but, m) })
}

// id returns the ID of a machine, or the one that it had when it last ran.
func (p *play) id(m *machine) trie.MachineID {
	if m.node != nil {
		return m.node.MachineID()
	}
	return p.ids[m]
}

// down remembers what a machine is, before its process ends.
func (p *play) down(m *machine) {
	p.ids[m] = m.node.MachineID()
	if v := m.node.View(); v != nil {
		p.layout = v.Base
	}
}

var reference = regexp.MustCompile(`\{(address|id|position) (\w+)\}`)

// text replaces {address m}, {id m} and {position m} in a text of a script.
func (p *play) text(quoted string) string {
	return reference.ReplaceAllStringFunc(strings.TrimPrefix(quoted, `"`), func(s string) string {
		part := reference.FindStringSubmatch(s)
		switch m := p.machine(part[2]); part[1] {
		case "address":
			return m.address()
		case "position":
			return p.w.position(m).String()
		default:
			return p.id(m).String()
		}
	})
}
