// Package retry holds what every loop that tries again needs: a wait that a context can end.
package retry
