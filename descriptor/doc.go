// Package descriptor says what a sealed batch is: its data files, the ranges of input they cover, and the table, schema
// and spec they were written against; and how it travels as bytes between processes.
package descriptor
