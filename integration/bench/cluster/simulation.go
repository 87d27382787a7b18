// Simulated clusters, with more machines than one machine can run.

package cluster

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// simulation runs the command of the same name, for which the Go tool must be installed, and
// shows its output.
func (b *bench) simulation(ctx context.Context) error {
	out, err := rig.Output(exec.CommandContext(ctx, "go", "run", "github.com/trefoildb/trefoil/integration/simulation",
		"-machines", b.sizes.machines, "-triples", fmt.Sprint(b.sizes.simulated), "-seed", fmt.Sprint(b.Seed)))
	if err != nil {
		return err
	}
	b.Report.Text("```\n" + string(out) + "```\n")
	return nil
}
