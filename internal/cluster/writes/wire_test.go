// Tests of the bytes of messages.

package writes

import (
	"encoding/hex"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The bytes of messages must not change, because members of two versions run side by side during
// an upgrade.
func TestMessageBytes(t *testing.T) {
	d := &replica.Delivery{
		Origin: replica.Origin{Sequencer: 1 << 63, Incarnation: 2, Batch: 3}, Committed: 2,
		Open: []uint64{1, 300}, Parts: []replica.Part{{Batch: 2, Operations: 1}, {Batch: 3, Operations: 2}},
		Acks:  map[trie.MachineID]uint64{1: 2, 1 << 63: 3},
		Ticks: replica.CommitTicks{Last: triple.Stamp{Epoch: 5, Sequence: 300}, Batches: []replica.BatchTick{{Batch: 2, Tick: 300}, {Batch: 9, Tick: 298}}},
		Operations: []replica.Operation{
			{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 5, Sequence: 600}, Key: []byte{0, 7}, Long: []byte{1, 2}},
			{Kind: store.OperationDelete, Stamp: triple.Stamp{Epoch: 5, Sequence: 7}, Key: []byte{0, 8}, Token: store.Token{1, 15: 2}},
			{Kind: store.OperationAnnotate, Key: []byte{0, 9}, Annotation: &replica.Annotation{ApplicationID: "a", On: triple.Stamp{Epoch: 1, Sequence: 2}, Data: []byte("x")}},
		},
	}
	conditional := d.Operations[2]
	conditional.Annotation = &replica.Annotation{ApplicationID: "a", On: triple.Stamp{Epoch: 1, Sequence: 2}, Data: []byte("x"), If: &replica.AnnotationCondition{
		Condition: store.Condition{Version: triple.Stamp{Epoch: 7, Sequence: 300}}, FoundIn: 9, Found: triple.Stamp{Epoch: 6, Sequence: 5}}}
	epoch, need := uint64(9), needTicks
	const ticks = "05ac0200" + "020207" + "0002"
	const settled = "8000000000000000" + "0203" + "0201ab02" + "02" + "000000000000000102" + "800000000000000003" + ticks
	for got, want := range map[string]string{
		string(encodeDelivery(epoch, d)): "09" + "8000000000000000" + "0202" + settled[20:] + "0202010302" +
			"030105d804020007020102" + "82" + "01000000000000000000000000000002" + "05070200080003000002000900" + "01610102000178",
		string(peer.Encode(0, (&numbered{epoch, d.Operations, false}).fields)):                                                       "09" + "0301020007020102" + "82" + "01000000000000000000000000000002" + "020008000302000900" + "01610102000178",
		string(peer.Encode(0, codeStates(&[]uint64{4, 9}, &d.Ticks))):                                                                "020405" + ticks,
		string(peer.Encode(0, codeBatches(&epoch, &d.Open, &need))):                                                                  "090201ab0201",
		string(peer.Encode(0, codeTokens(&epoch, &[]store.Token{{1, 15: 2}}))):                                                       "0901" + "01000000000000000000000000000002",
		string(peer.Encode(0, (&answer{outcome: diskFull, changed: 300}).fields)):                                                    "01ac020000",
		string(peer.Encode(0, (&delivered{diskFull, 300}).fields)):                                                                   "01ac02",
		string(peer.Encode(0, (&answer{outcome: conflict, epoch: 9, version: triple.Stamp{Epoch: 5, Sequence: 600}}).versionFields)): "04000000" + "09" + "05d804",
		string(peer.Encode(0, (&numbered{epoch, []replica.Operation{conditional}, false}).conditionFields)): "09" + "01" + "0302000900" + "01610102000178" +
			"00" + "07ac02" + "09" + "0605",
	} {
		if hex.EncodeToString([]byte(got)) != want {
			t.Errorf("%x\nwant %s", got, want)
		}
	}
}
