//go:build race

package protocol

// slower divides the number of states that are explored: the race detector makes each one cost ten times as much.
const slower = 10
