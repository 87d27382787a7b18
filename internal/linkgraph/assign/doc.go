// Package assign gives pages their UIDs. The primary of a partition assigns them, in writes that are
// fenced to its epoch; other machines request them. The [Assigner] says why no number is assigned twice.
package assign
