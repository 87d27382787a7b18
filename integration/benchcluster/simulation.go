package main

import (
	"context"
	"fmt"
)

// simulation runs the command of the same name, which needs the Go tool, and shows
// what it prints: figures of numbers of machines that no one machine can play.
func (b *bench) simulation(ctx context.Context) error {
	words := []string{"go", "run", "github.com/trefoildb/trefoil/integration/simulation", "-machines", b.sizes.machines, "-triples", fmt.Sprint(b.sizes.simulated),
		"-seed", fmt.Sprint(b.seed)}
	out, err := command(ctx, words...).Output()
	if err != nil {
		return fmt.Errorf("%v: %w%s", words, err, stderrOf(err))
	}
	fmt.Fprintf(b.report.table, "```\n%s```\n", out)
	return nil
}
