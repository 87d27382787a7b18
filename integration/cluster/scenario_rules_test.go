// Scenarios that must fail: lines that are wrong, and expectations that do not hold.

package cluster

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestScenarioErrors reads scripts with one wrong line: the error names the file and the line.
func TestScenarioErrors(t *testing.T) {
	for text, want := range map[string]string{
		"form 3\n\nexplode 1 # loudly":      `x.txt:3: explode 1: unknown verb "explode"`,
		"form":                              "x.txt:1: form: want form NUMBER [OPTION...]",
		`expect waiting "room`:              "x.txt:1: a quote is not closed",
		"repeat 3\nheal":                    "x.txt:1: repeat 3: the block has no end",
		"heal\nend":                         "x.txt:2: no block begins before this end",
		"repeat\nend":                       "x.txt:1: repeat: want repeat NUMBER",
		"for a b in 1 2 3\nend":             "x.txt:1: for a b in 1 2 3: want NAME... in VALUE...",
		"each a\nheal":                      "x.txt:1: want NAME... in VALUE...",
		"for m in 1\nfor n in 2\nkill $o\n": "x.txt:3: kill $o: no value for $o",
	} {
		if _, err := parseScenario("x.txt", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	variants, err := parseScenario("x.txt", "each cut n in \"a -> b\" 1 \"a b\" 2\neach m in 3 4\nfor k in 5 6\ncut $cut\nstop $n $m $k\nend")
	if err != nil || len(variants) != 4 {
		t.Fatal(len(variants), err)
	}
	var steps []string
	for _, s := range variants[1].steps {
		steps = append(steps, s.String())
	}
	const want = "x.txt:4: cut a -> b|x.txt:5: stop 1 4 5|x.txt:4: cut a -> b|x.txt:5: stop 1 4 6"
	if got := strings.Join(steps, "|"); got != want || variants[1].name != "a -> b 1, 4" {
		t.Errorf("variant %q: %s", variants[1].name, got)
	}
}

// broken is a script in which each line with "=>" must fail with the text after it.
const broken = `
form 3
spread
expect members 4                      => it is 3, not 4
expect members 2 of 1                 => it is 3, not 2
expect idle 2                         => it is 3, not 2
expect not idle 3                     => it holds
wait members 4                        => waited 5s: it is 3, not 4
expect filling                        => it is idle, not fill
expect returning 1                    => 0 members wait for their first lease
expect alone 1                        => it is false, not true
expect not serving 1                  => it holds
expect gone 1                         => it is false, not true
expect ended 1 excluded               => it runs
expect losses                         => no range is lost
expect excluded 1                     => does not list it
expect waiting "for room"             => it waits for ""
expect answers 1 "room"               => waits for "", not for "room"
expect accused                        => nobody is accused
expect full 1                         => its disk is not shown as full
expect copies 2                       => it is 3, not 2
expect lease 3s                       => it is 2s, not 3s
expect generation 2                   => has generation 1
expect empty 1                        => not 0
expect not readable 1                 => it holds
expect minority 1                     => it is false, not true
expect complete 1                     => the annotation of
expect nothing                        => unknown condition "nothing"
expect members                        => want members NUMBER
fail any heal                         => it does not fail
fail unavailable set-copies 1         => want unavailable, got invalid
fail invalid "twelve" set-copies 1    => does not contain "twelve"
fail odd set-copies 1                 => unknown kind of errors "odd"
may-fail unavailable set-copies 1     => want unavailable, got invalid
within 1s sleep 2s                    => not done in 1s
within 1s wait members 4              => waited 1s: it is 3, not 4
begin sleep 1m
await                                 => not ended in 5s
begin sleep 1m
within 1s await                       => not ended in 1s
reach begun                           => not reached in 5.
timeout 1s start 9 joining 1 advertise=10.9.9.9:7000 => deadline exceeded
begin set-copies 1
await                                 => copies
let a b c = followers                 => there are 2 machines
start 1 color=red                     => unknown option "color=red"
room 1 5                              => want a size in MiB or GiB
add 9..2                              => want triples as FROM..TO
restore 1                             => the disk was not saved
purge                                 => 0 tombstones are purged
delete 0..10
expect tombstones none                => not 0
purge
expect tombstones all                 => it is 0, not
write 2000..2010 through all
sleep 1s
end-writes 100 1m                     => 10 writes
isolate 3
wait gone 3
heal
wait not running
expect running                        => excluded
expect ended 3 superseded             => want superseded
expect ended 3 excluded "twelve"      => does not contain "twelve"
expect serving 3                      => holds no lease
expect listed 3                       => it is no member
expect replaced 3 1                   => the owner of partition
rejoin 3
settle
expect same 3                         => it is
increment                             => there is no backup to continue
backup through 1
add 3500..3510
increment through 2
forget
expect data                           => 1 missing
read 1                                => 1 missing
backup                                => 1 missing
add 0..2                              => it is 2, not 1
expect linked                         => keeps no graph of links
keep-links 1                          => has answered requests without links
stop all
start 1 2 3
settle
keep-links all
link 0..10
hold rows
reach held
fail unavailable read-links 1
reach export                          => not reached in 5
hold odd                              => unknown request "odd"
release
wait linked
forget-link
expect linked                         => they are
read-links 2                          => they are
`

// TestScenarioExpectations breaks each condition, and each verb that checks something.
func TestScenarioExpectations(t *testing.T) {
	forget := func(of func(p *play) map[int]bool, number int) verb {
		return verb{run: func(p *play, _ context.Context, _ []string) error { of(p)[number] = true; return nil }}
	}
	verbs["forget"] = forget(func(p *play) map[int]bool { return p.data }, 0)
	verbs["forget-link"] = forget(func(p *play) map[int]bool { return p.links }, numPages)
	defer delete(verbs, "forget")
	defer delete(verbs, "forget-link")
	used := map[string]bool{}
	simulate(t, 0, func(t *testing.T, w *world) {
		p := newPlay(w)
		p.limit = 5 * time.Second
		for line := range strings.Lines(broken) {
			line, want, fails := strings.Cut(line, "=>")
			args, err := words(line)
			if err != nil {
				t.Fatal(err)
			}
			if len(args) == 0 {
				continue
			}
			err = p.do(t.Context(), args)
			want = strings.TrimSpace(want)
			switch {
			case !fails && err != nil:
				t.Fatalf("%s: %v", line, err)
			case fails && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: %v, want %s", line, err, want)
			}
			for _, a := range args {
				used[a] = used[a] || fails
			}
		}
	})
	for name := range conditions {
		if !used[name] {
			t.Errorf("no line breaks the condition %q", name)
		}
	}
}
