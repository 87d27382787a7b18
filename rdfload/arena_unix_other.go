//go:build unix && !linux

package rdfload

const mapNoReserve = 0
