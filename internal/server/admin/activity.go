// What each machine does and uses: /cluster/activity.

package admin

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// activity is what a machine does and has done. Counters begin at 0 with the process, so rates are differences of two answers.
type activity struct {
	machine
	Seconds          float64 `json:"seconds"`          // since its endpoints opened
	ProcessorSeconds float64 `json:"processorSeconds"` // of all processors; 0 if the system does not report it
	Memory           int64   `json:"memory"`           // bytes of the process; 0 if the system does not report it
	Requests         int64   `json:"requests"`         // of clients, answered
	RequestsInFlight int64   `json:"requestsInFlight"`
	Queries          int64   `json:"queries"` // and updates, ended
	QueriesRunning   int64   `json:"queriesRunning"`
	RowsRead         int64   `json:"rowsRead"`     // by ended queries, without updates, also from other machines
	BytesWritten     int64   `json:"bytesWritten"` // to its store, also for other machines
	// CompactionDebt is how many bytes of tables are to be compacted. It is nil of a member whose release lacks it.
	CompactionDebt *int64 `json:"compactionDebt,omitempty"`
}

// activityList is the answer of /cluster/activity.
type activityList struct {
	Members []activity `json:"members"`
	Absent  []absent   `json:"absent,omitempty"`
}

func (a *API) getActivity(w http.ResponseWriter, r *request.Request) error {
	local, err := a.localActivity()
	if err != nil {
		return err
	}
	local.machine = a.selfMachine()
	all := activityList{Members: []activity{local}}
	all.Absent, err = eachPeer(r.Context(), a, methodActivity, nil, func(from machine, one activity) {
		one.machine = from
		all.Members = append(all.Members, one)
	})
	if err != nil {
		return err
	}
	sortByNode(all.Members, func(m activity) machine { return m.machine })
	return response.WriteJSON(w, all)
}

// localActivity returns the activity of this machine, from its metrics.
func (a *API) localActivity() (activity, error) {
	families, err := a.registry.Gather()
	if err != nil {
		return activity{}, err
	}
	sums := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			sums[family.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	count := func(name string) int64 { return int64(sums[name]) }
	debt := count("trefoil_store_compaction_debt_bytes")
	return activity{
		Seconds: time.Since(a.opened).Seconds(), ProcessorSeconds: sums["process_cpu_seconds_total"], Memory: count("process_resident_memory_bytes"),
		Requests: count("trefoil_http_requests_total"), RequestsInFlight: count("trefoil_http_requests_in_flight"),
		Queries: count("trefoil_sparql_operations_total"), QueriesRunning: count("trefoil_sparql_running"),
		RowsRead: count("trefoil_sparql_rows_read_total"), BytesWritten: count("trefoil_store_write_bytes_total"),
		CompactionDebt: &debt,
	}, nil
}

// sortByNode sorts parts of an answer by the address of their machine.
func sortByNode[T any](all []T, of func(T) machine) {
	slices.SortFunc(all, func(x, y T) int {
		return cmp.Or(cmp.Compare(of(x).Node, of(y).Node), cmp.Compare(of(x).Machine, of(y).Machine))
	})
}
