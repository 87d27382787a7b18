// Tests of the operations of applications.

package dataset

import "testing"

// TestClients checks that clients change different statements, and delete only existing ones.
func TestClients(t *testing.T) {
	for _, app := range []Application{Photos{Seed: 2, Triples: 20_000}, Library{Seed: 2, Triples: 20_000}} {
		live := make(map[Statement]bool)
		for s := range app.Statements() {
			live[s] = true
		}
		owners := make(map[Statement]int)
		missing, deleted := 0, 0
		const clients = 4
		for client := range clients {
			ops := 0
			for op := range app.Ops(client, clients) {
				if ops++; ops > 2000 {
					break
				}
				for _, s := range op.Statements {
					if owner, ok := owners[s]; ok && owner != client {
						t.Fatalf("clients %d and %d both change %v", owner, client, s)
					}
					owners[s] = client
					if op.Kind == Delete {
						deleted++
						if !live[s] {
							missing++
						}
					}
					live[s] = op.Kind == Add
				}
			}
		}
		if missing*50 > deleted {
			t.Errorf("%T: %d of %d deleted statements were not there", app, missing, deleted)
		}
	}
	// There are more clients than users, and each must have operations.
	for _, app := range []Application{Photos{Triples: 10}, Library{Triples: 10}} {
		for client := range 5 {
			n := 0
			for range app.Ops(client, 5) {
				if n++; n == 100 {
					break
				}
			}
		}
	}
}
