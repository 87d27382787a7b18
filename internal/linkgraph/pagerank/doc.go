// Package pagerank runs jobs of PageRank on all members (package links/rank has the rounds). The [Ranker]
// is the part of one machine: record, frozen cells, a term and scores. The [Coordinator] carries the job
// from step to step.
package pagerank
