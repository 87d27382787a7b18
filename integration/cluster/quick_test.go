// What make test runs of the tests of clusters.

package cluster

import (
	"flag"
	"os"
	"testing"
)

// quickTests are some scenarios of each kind, the random faults of one cluster, and its feed, loads, links,
// annotations, backups. Make test-all runs all tests.
const quickTests = "^TestScenarios$/^(form|loss|leave|remove|copies|spare|power-loss|quick-restart|older-log|recover-alone|two-of-five|cut-during-backfill|death-during-load|death-during-fill|death-during-link-build|death-during-backup|disk-fills-up|join-refused|purge)$" +
	"|^TestTorture$|^TestFeedFollows$|^TestFeedBlankDisk$|^TestTriples$|^TestFeedContract$"

// TestMain runs quickTests if TREFOIL_QUICK is set and no test is named.
func TestMain(m *testing.M) {
	flag.Parse()
	if run := flag.Lookup("test.run").Value; os.Getenv("TREFOIL_QUICK") != "" && run.String() == "" {
		if err := run.Set(quickTests); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
