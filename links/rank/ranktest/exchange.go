// The conformance test of rank.Exchange.

package ranktest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links/rank"
)

const checkedMachines, checkedSteps = 3, 20

// CheckExchange checks the exchanges of machines. open must return one exchange for each machine.
// owners has the machine of the UIDs 1 and 2, of 3 and 4, and so on.
func CheckExchange(t TB, open func(machines int, owners []int) []rank.Exchange) {
	t.Helper()
	exchanges := open(checkedMachines, []int{0, 0, 2, 1})
	errs := make([]error, len(exchanges))
	var group sync.WaitGroup
	for m := range exchanges {
		group.Go(func() { errs[m] = talk(exchanges[m], m) })
	}
	group.Wait()
	for m, err := range errs {
		if err != nil {
			t.Fatalf("machine %d: %v", m, err)
		}
	}
}

// talk plays one machine.
func talk(x rank.Exchange, m int) error {
	if n, self := x.Machines(); n != checkedMachines || self != m {
		return fmt.Errorf("it is machine %d of %d", self, n)
	}
	if m == 0 && (x.Owner(6) != 2 || x.Owner(7) != 1) {
		return fmt.Errorf("UIDs 6 and 7 belong to machines %d and %d", x.Owner(6), x.Owner(7))
	}
	// Messages have 0 to some 100,000 bytes, because an empty one must arrive too.
	message := func(step, from, to int) []byte {
		return bytes.Repeat([]byte{byte(step), byte(from), byte(to)}, (step+from+to)%4*11_111)
	}
	for step := range checkedSteps {
		// 1. Send to all before receiving. Send must not wait for the receiver, and must not keep
		// the message, so this is cleared.
		for to := range checkedMachines {
			if to == m {
				continue
			}
			sent := message(step, m, to)
			if err := x.Send(context.Background(), step, to, sent); err != nil {
				return err
			}
			clear(sent)
		}
		// 2. Receive in another order.
		for _, from := range slices.Backward([]int{0, 1, 2}) {
			if from == m {
				continue
			}
			if got, err := x.Receive(context.Background(), step, from); err != nil || !bytes.Equal(got, message(step, from, m)) {
				return fmt.Errorf("step %d: %d bytes from machine %d, %w", step, len(got), from, err)
			}
		}
	}
	return nil
}
