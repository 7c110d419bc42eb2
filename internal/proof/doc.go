// Package proof compares an Iceberg table with what was produced into it: which rows are lost, doubled or altered, and which
// snapshot did it.
package proof
