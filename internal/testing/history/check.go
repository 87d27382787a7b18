// The check: from a history to a report.

package history

// Check returns the anomalies of a history. It fails if two appends have the same key and value.
func Check(h []Txn) (Report, error) {
	var report Report
	o, err := observe(h, &report)
	if err != nil {
		return Report{}, err
	}
	v := inferVersions(o, &report)
	v.checkReads(&report)
	findCycles(len(h), v.dataEdges(), v.processEdges(), v.realTimeEdges(), &report)
	for _, committed := range v.committed {
		if committed {
			report.Committed++
		}
	}
	return report, nil
}
