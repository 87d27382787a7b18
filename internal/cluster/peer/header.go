// The header: the sender of a request, and its view.

package peer

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/trefoildb/trefoil/trie"
)

// A Header goes with every request. The fields X-Request-Id and Traceparent go beside it, see package tracing. Nodes
// ignore fields that they do not know, so releases may add some.
type Header struct {
	Cluster     string // its name
	ClusterID   string // tells clusters of one name apart; "" where the sender is of none yet
	Lineage     string // the history of views that the sender belongs to
	Generation  uint64
	Epoch       uint64 // of the view that the sender has adopted
	From        trie.MachineID
	Incarnation uint64         // of the sender
	To          trie.MachineID // whom the request is meant for; 0: any at the address
}

// The fields, in the form that net/http keeps them in.
const (
	fieldCluster     = "Trefoil-Cluster"
	fieldClusterID   = "Trefoil-Clusterid"
	fieldLineage     = "Trefoil-Lineage"
	fieldGeneration  = "Trefoil-Generation"
	fieldEpoch       = "Trefoil-Epoch"
	fieldFrom        = "Trefoil-From"
	fieldIncarnation = "Trefoil-Incarnation"
	fieldTo          = "Trefoil-To"
)

func (h Header) fields() http.Header {
	f := http.Header{
		fieldCluster:     {url.QueryEscape(h.Cluster)},
		fieldClusterID:   {url.QueryEscape(h.ClusterID)},
		fieldLineage:     {url.QueryEscape(h.Lineage)},
		fieldGeneration:  {strconv.FormatUint(h.Generation, 10)},
		fieldEpoch:       {strconv.FormatUint(h.Epoch, 10)},
		fieldFrom:        {h.From.String()},
		fieldIncarnation: {strconv.FormatUint(h.Incarnation, 10)},
		"User-Agent":     nil, // else net/http writes its own
	}
	if h.To != 0 {
		f[fieldTo] = []string{h.To.String()}
	}
	return f
}

func parseHeader(f http.Header) (h Header, err error) {
	if h.Cluster, err = url.QueryUnescape(f.Get(fieldCluster)); err != nil {
		return h, fmt.Errorf("header %s: %w", fieldCluster, err)
	}
	if h.ClusterID, err = url.QueryUnescape(f.Get(fieldClusterID)); err != nil {
		return h, fmt.Errorf("header %s: %w", fieldClusterID, err)
	}
	if h.Lineage, err = url.QueryUnescape(f.Get(fieldLineage)); err != nil {
		return h, fmt.Errorf("header %s: %w", fieldLineage, err)
	}
	// 1. Numbers, which each message has.
	for _, n := range []struct {
		name string
		to   *uint64
	}{{fieldGeneration, &h.Generation}, {fieldEpoch, &h.Epoch}, {fieldIncarnation, &h.Incarnation}} {
		if *n.to, err = strconv.ParseUint(f.Get(n.name), 10, 64); err != nil {
			return h, fmt.Errorf("header %s: %w", n.name, err)
		}
	}
	// 2. Machines. A message to an address alone has no recipient, because the sender does not know who is there.
	if h.From, err = trie.ParseMachineID(f.Get(fieldFrom)); err != nil {
		return h, fmt.Errorf("header %s: %w", fieldFrom, err)
	}
	if to := f.Get(fieldTo); to != "" {
		if h.To, err = trie.ParseMachineID(to); err != nil {
			return h, fmt.Errorf("header %s: %w", fieldTo, err)
		}
	}
	return h, nil
}
