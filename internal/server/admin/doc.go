// Package admin answers for operators: status, metrics, health, backups, checks, and the members
// of a cluster.
package admin
