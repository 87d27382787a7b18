// The command line, and the seeds it runs.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.seeds, "seeds", "", "seeds: one, a list (1,5,9) or a range (1-1000); empty is one random seed")
	flag.StringVar(&o.test, "test", "^TestTorture$", "the test to run, as for go test -run")
	flag.StringVar(&o.pkg, "package", "./integration/cluster", "the package of the test")
	flag.StringVar(&o.binary, "binary", "", "a binary that an earlier run has kept with -o; empty builds one")
	flag.StringVar(&o.output, "o", "", "where to keep the binary")
	flag.StringVar(&o.keep, "keep", "", "a directory for the output and the events of each seed; empty keeps those that fail in a temporary one")
	flag.IntVar(&o.times, "times", 1, "how often each seed runs; different histories fail")
	flag.IntVar(&o.jobs, "jobs", 1, "how many seeds run at once")
	flag.BoolVar(&o.odd, "odd", false, "also slow, failing and lying disks, flipped bits in all files, resets, stopped processes, clocks that jump and partitions that last (TREFOIL_ODD=1)")
	flag.BoolVar(&o.short, "short", false, "run the tests with -test.short")
	flag.DurationVar(&o.limit, "limit", runLimit, "how long one run may take")
	flag.DurationVar(&o.until, "for", 0, "start no further seed after this time; 0 runs all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx, os.Stdout); err != nil {
		log.Fatal("replay: ", err)
	}
}

// runLimit is how long one run of a seed may take.
const runLimit = 30 * time.Minute

type options struct {
	seeds, test, pkg, binary, output, keep string
	times, jobs                            int
	short, odd                             bool
	limit, until                           time.Duration
}

// run runs all seeds and writes a line for each. It returns an error if one failed.
func (o *options) run(ctx context.Context, out io.Writer) error {
	// 1. The seeds, the binary and where results are kept.
	seeds, err := parseSeeds(o.seeds)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.binary == "" {
		if o.binary = o.output; o.binary == "" {
			o.binary = filepath.Join(dir, "replay.test")
		}
		if err := build(ctx, o.pkg, o.binary, dir); err != nil {
			return err
		}
	}
	keep := o.keep
	if keep == "" {
		if keep, err = os.MkdirTemp("", "replay-failed"); err != nil {
			return err
		}
		defer os.Remove(keep) // if nothing is in it
	}

	if err := os.MkdirAll(keep, 0o755); err != nil {
		return err
	}

	// 2. Each seed in a process of its own.
	r := &runner{options: o, out: out, keep: keep, totals: map[string]int64{}}
	queue := make(chan uint64)
	var group sync.WaitGroup
	for range max(1, o.jobs) {
		group.Go(func() {
			for seed := range queue {
				r.seed(ctx, seed)
			}
		})
	}
	began := time.Now()
	for _, seed := range seeds {
		if ctx.Err() != nil || o.until > 0 && time.Since(began) > o.until {
			break
		}
		queue <- seed
	}
	close(queue)
	group.Wait()

	// 3. What they did in all.
	fmt.Fprintf(out, "%d of %d seeds, %d failed, in %s\n", r.done, len(seeds), len(r.failed), time.Since(began).Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(r.totals)) {
		fmt.Fprintf(out, "  %s: %d\n", name, r.totals[name])
	}
	if len(r.failed) > 0 {
		return fmt.Errorf("seeds %v failed: see %s", r.failed, keep)
	}
	return ctx.Err()
}

// parseSeeds reads a seed, a list or a range of them.
func parseSeeds(text string) (seeds []uint64, err error) {
	if text == "" {
		return []uint64{rand.Uint64N(1 << 32)}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		a, err1 := strconv.ParseUint(from, 10, 64)
		b, err2 := strconv.ParseUint(to, 10, 64)
		if err := errors.Join(err1, err2); err != nil || b < a {
			return nil, fmt.Errorf("-seeds %q: a number, a list (1,5,9) or a range (1-1000) is needed", text)
		}
		for seed := a; seed <= b; seed++ {
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}
