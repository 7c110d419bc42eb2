// Package retry holds what every loop that tries again needs: a wait that a context can end, and how
// long to wait.
package retry
