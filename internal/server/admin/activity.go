// What each machine does and uses: /cluster/activity.

package admin

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

func (a *API) getActivity(w http.ResponseWriter, r *request.Request) error {
	local, err := a.localActivity()
	if err != nil {
		return err
	}
	local.MemberName = a.selfMachine()
	all := api.ActivityList{Members: []api.Activity{local}}
	all.Absent, err = eachPeer(r.Context(), a, methodActivity, nil, func(from api.MemberName, one api.Activity) {
		one.MemberName = from
		all.Members = append(all.Members, one)
	})
	if err != nil {
		return err
	}
	sortByNode(all.Members, func(m api.Activity) api.MemberName { return m.MemberName })
	return response.WriteJSON(w, all)
}

// localActivity returns the activity of this machine, from its metrics.
func (a *API) localActivity() (api.Activity, error) {
	families, err := a.registry.Gather()
	if err != nil {
		return api.Activity{}, err
	}
	sums := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			sums[family.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	count := func(name string) int64 { return int64(sums[name]) }
	debt := count("trefoil_store_compaction_debt_bytes")
	return api.Activity{
		Seconds: time.Since(a.opened).Seconds(), ProcessorSeconds: sums["process_cpu_seconds_total"], Memory: count("process_resident_memory_bytes"),
		Requests: count("trefoil_http_requests_total"), RequestsInFlight: count("trefoil_http_requests_in_flight"),
		Queries: count("trefoil_sparql_operations_total"), QueriesRunning: count("trefoil_sparql_running"),
		RowsRead: count("trefoil_sparql_rows_read_total"), BytesWritten: count("trefoil_store_write_bytes_total"),
		CompactionDebt: &debt,
	}, nil
}

// sortByNode sorts parts of an answer by the address of their machine.
func sortByNode[T any](all []T, of func(T) api.MemberName) {
	slices.SortFunc(all, func(x, y T) int {
		return cmp.Or(cmp.Compare(of(x).Node, of(y).Node), cmp.Compare(of(x).Machine, of(y).Machine))
	})
}
