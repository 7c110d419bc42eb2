// Package wal keeps the entries of group commits under <table location>/metadata/_storm_wal, through the table's
// FileIO: a committer's note of the files it is about to make visible.
package wal
