// Package topology builds and runs a pipeline: source, writers, committer.
package topology
