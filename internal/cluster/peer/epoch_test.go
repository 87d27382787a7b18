// Tests of epochs in contexts.

package peer

import "testing"

func TestWithEpoch(t *testing.T) {
	c := NewClient(nil, func() Header { return Header{Cluster: "c", Epoch: 7} }, ClientOptions{})
	defer c.Close()
	if h := c.headerFor(t.Context(), 0); h.Epoch != 7 {
		t.Errorf("epoch %d, not that of now", h.Epoch)
	}
	if h := c.headerFor(WithEpoch(t.Context(), 5), 0); h.Epoch != 5 || h.Cluster != "c" {
		t.Errorf("%+v, not as of epoch 5", h)
	}
}
