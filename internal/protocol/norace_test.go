//go:build !race

package protocol

const slower = 1
