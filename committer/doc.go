// Package committer makes sealed batches visible: group commit, contiguity, positions, the outcome of a commit, and the
// settlement of what an earlier life left behind.
package committer
